"""What systems of rounds share: the field of performances, who performed how, teams.

cdf_sums.py               performance distributions, and sums of their functions over all participants
hazard_tables.py          the hazards of a density of performances
expected_wins.py          the expected number of participants whom each beats
round_teams.py            the teams of a round
performance_inference.py  performances inferred from places: roots of sums over all participants
"""
