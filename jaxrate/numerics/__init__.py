"""Numerical building blocks: special functions, sums, transforms and roots.

linear_algebra.py        sums, recurrences, linear systems and Gaussian factors whose slopes are finite
fourier_convolution.py   convolutions on a grid of equally spaced points, by Fourier transforms with padding
newton_iterations.py     roots and maxima by Newton's method, with implicit derivatives
selective_evaluation.py  functions evaluated for the rows and tiles that count
special_functions.py     primitives that are exact where naive formulas fail
"""
