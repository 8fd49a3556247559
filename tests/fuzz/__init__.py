"""Fuzzers: cases drawn from a seed, a few in every run of the tests, as many as there is time for by hand."""
