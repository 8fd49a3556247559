"""Smoothed histories: the belief about every player at every event, given all events before and after.

smoother.py                      smooth: the public function and its checks
forecasts_from_smoothed_past.py  forecasts from a filter that starts again and again from a smoothed past
smoothing_result.py              Smoothed: the result, and how it prints
participations.py                who takes part in which event, and how contests of about the same size lie together
timelines.py                     the events of each player end to end, many players side by side
forward_backward.py              one pass forwards and one backwards over all timelines
match_sites.py                   what each match says of its players, given all others; log likelihoods
goal_rows.py                     matches of goals as two rows, one of the goals of either team
goal_sites.py                    what the goals of a team say, and predictions
contest_sites.py                 the same of contests of teams, and predictions
event_sites.py                   the same of events of either kind
expectation_propagation.py       sweeps of expectation propagation, mixed by Anderson's method
evidence_adjoints.py             what the log evidence owes to the sites, for its slopes
smoothed_ratings.py              ratings, predictions, state and evidence that follow from sites
"""
