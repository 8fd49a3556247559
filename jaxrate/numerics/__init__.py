"""Numerical building blocks: special functions, sums, transforms and roots.

sums_and_recurrences.py        sums, recurrences, linear systems and Gaussian factors whose slopes are finite
fourier_convolution.py         convolutions on a grid of equally spaced points, by Fourier transforms with padding
newton_roots_and_maxima.py     roots and maxima by Newton's method, with implicit derivatives
selective_evaluation.py        functions that are evaluated only where they are needed
special_functions.py           primitives that are exact where naive formulas fail
padding_skipping_row_tiles.py  functions of many rows, some rows at a time, and only as far as there are any
"""
