"""Smoothed histories: the belief about every player at every match, given all matches before and after.

smoother.py                      smooth: the public function and its checks
forecasts_from_smoothed_past.py  forecasts from a filter that starts again and again from a smoothed past
smoothing_result.py              Smoothed: the result, and how it prints
timelines.py                     the matches of each player end to end, many players side by side
forward_backward.py              one pass forwards and one backwards over all timelines
likelihood_sites.py              the sites of matches: what each says of its players, given all others; log likelihoods
expectation_propagation.py       sweeps: passes and sites by turns, until nothing changes
"""
