"""What systems of rounds share: the field of performances, who performed how, teams.

performances_and_break_even_ranks.py  what a round, once its result is known, says of the performances in it
cdf_sums.py                           sums over everybody in a round, as functions of one rating
hazard_tables.py                      the hazards of a density of performances
exact_logistic_performances.py        logistic performances one by one, each from all participants
expected_wins.py                      how many of a round each participant is expected to beat
tabulated_normal_wins.py              whom each is expected to beat in large rounds of normal performances
round_teams.py                        the teams of a round
pairwise_wins.py                      whom each participant of a round is expected to beat, summed over all pairs
performance_distributions.py          distributions of performances in rounds
performance_inference.py              performances
standing_sums.py                      sums over the standings of a round
rating_roots.py                       ratings at which a sum over everybody in a round is as given
"""
