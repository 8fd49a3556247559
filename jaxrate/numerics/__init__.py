"""Numerical building blocks: special functions, sums, transforms and roots."""
