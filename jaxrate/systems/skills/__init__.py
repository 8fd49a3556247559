"""Skills, in pieces.

system.py               the system: its formulas, and how parts, or settings by name, make it
rules.py                what is expected before an event, part by part, and learnt after it
part_values.py          parts and observations as users make them, with their hyperparameters
settings.py             what parts say of the model, its state, and whether the model and events fit
belief_updates.py       what time, and messages about strengths, make of beliefs
match_strengths.py      strengths of two players in a match, and their points
outcome_likelihoods.py  likelihoods of results of a difference of strengths, and of statistics
goal_likelihoods.py     goals: beliefs about the logarithms of rates, likelihoods of counts and chances of results
team_results.py         results of contests of teams: performances, evidence of members, likelihoods and messages
"""
