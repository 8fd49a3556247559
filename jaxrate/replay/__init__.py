"""Histories replayed, exactly and many events at once."""
