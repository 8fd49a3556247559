"""Histories with hindsight: what is believed of every player at every match, given all that came before and after.

smooth.py     the door
forecast.py   the same again and again, and a filter in between: forecasts
found.py      what is found, and how it reads
timelines.py  the matches of each player end to end, many players side by side
passes.py     one pass forwards and one backwards over all timelines
sites.py      what matches say of their players, given all others, and how likely they are
sweeps.py     both by turns, until nothing changes
"""
