"""Smoothed histories: the belief about every player at every event, given all events before and after.

smoother.py                      Smoothed, the result, and how it is found: checks and sweeps
forecasts_from_smoothed_past.py  forecasts from a filter that starts again and again from a smoothed past
timelines.py                     timelines: who plays when, by participations of players
forward_backward.py              one pass forwards and one backwards over all timelines
event_sites.py                   sites: the Gaussian factors that matches, goals and contests are replaced by
expectation_propagation.py       sweeps of expectation propagation, mixed by Anderson's method
smoothed_ratings.py              ratings, predictions, state and evidence that follow from sites, and its slopes by them
"""
