"""What systems of rounds share: the field of performances, who performed how, teams.

break_even_ranks.py            what a round, once its result is known, says of the performances in it
cdf_sums.py                    sums over everybody in a round, as functions of one rating
densities.py                   densities of the noise of a performance, of which Elo-MMR takes any log-concave one
exact_performance.py           logistic performances one by one, each from all participants
expected_wins.py               how many of a round each participant is expected to beat
expected_wins_by_deviation.py  whom each is expected to beat in large rounds of normal performances
hazards.py                     the hazards of a density of performances
matches_as_contests.py         matches as contests of two, for systems of contests
multi_team_players.py          players in several teams of one contest, as a constructor with two cars
pairwise_wins.py               whom each participant of a round is expected to beat, summed over all pairs
performance_distributions.py   distributions of performances in rounds
performance_inference.py       performances
round_teams.py                 the teams of a round, in the order of the standing: what systems of teams ask of it
standing_sums.py               sums over the standings of a round
rating_roots.py                ratings at which a sum over everybody in a round is as given
"""
