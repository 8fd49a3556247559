"""Smoothed histories: the belief about every player at every event, given all events before and after.

smoother.py                 Smoothed, the result, how it is found, and forecasts from a smoothed past
timelines.py                timelines: who plays when, by participations of players
forward_backward.py         one pass forwards and one backwards over all timelines
event_sites.py              sites: the Gaussian factors that matches and contests are replaced by
expectation_propagation.py  sweeps of expectation propagation, and what follows from the sites at rest
"""
