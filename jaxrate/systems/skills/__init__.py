"""Skills, in pieces.

system.py                     the system: its formulas, its factory, and what it needs of events
settings_and_event_checks.py  whether matches have what it learns from
rules.py                      what is expected before an event, and learnt after it
settings_and_state.py         settings, hyperparameters, state
posterior.py                  what they are believed to be after it
aging.py                      what time does to beliefs
match_statistics.py           what was counted beside the result
match_strengths.py            what players bring to a match
outcome_likelihoods.py        how likely results are, and what they say of the players
goal_settings.py              hyperparameters of goals, and whether matches have goals
point_totals.py               the points of both sides together, and paces
goal_beliefs.py               the rates at which both sides of a match should score
goal_count_likelihoods.py     how likely goals of one side are, for hindsight
goal_likelihoods.py           how likely goals are, and what they say of these rates
goal_probabilities.py         how likely results and scorelines are
goal_rules.py                 what is expected of the goals of a match, and learnt from them
team_rules.py                 what is expected before a contest of teams, and learnt after it
team_performances.py          what members bring to a contest, and how well their teams should perform
member_evidence.py            what was counted of each participant, and who quit
contest_messages.py           what a contest says of its members, and how likely it was
team_results.py               what the result of a contest says of teams and members
team_result_likelihoods.py    how likely the result of a contest is
prediction_parts.py           what each player brings to a prediction, part by part
"""
