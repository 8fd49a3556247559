"""Hyperparameters from histories: what is minimised, what is searched, the steps, and what they find."""
