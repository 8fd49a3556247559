"""What users see of a few histories, frozen: `python -m tests.goldens` writes it, and `test_goldens.py` compares."""
