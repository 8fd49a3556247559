"""Skills, in pieces.

system.py               the system: its formulas, and how parts, or settings by name, make it
rules.py                what is expected before an event, part by part, and learnt after it
part_declarations.py    parts and observations as users make them, with their hyperparameters
settings.py             what parts say of the model, and whether the model and events fit
parts.py                the parts of what is believed of a player, and the state that they add up to
belief_updates.py       what time, and messages about linear predictors, make of beliefs
linear_predictors.py    what participants are believed to bring to an event
outcome_likelihoods.py  likelihoods of results, margins, statistics and points of two players
user_observations.py    observations of matches of a user's own, by functions of the lead
goal_likelihoods.py     goals: beliefs about the logarithms of rates, likelihoods of counts and chances of results
team_results.py         results of contests of teams: performances, evidence of members, likelihoods and messages
"""
