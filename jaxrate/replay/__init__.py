"""Histories replayed, exactly and many events at once.

blocks.py                     plans of blocks: contests and rating periods of like sizes, computed at once
checked_replay.py             the door to a replay, and predictions of upcoming events
compiler_options.py           options of XLA for the programs of replays
execution.py                  programs that rate and predict a plan, and slopes of hyperparameters through them
row_gather_and_scatter.py     rows of players: taken from the state, packed and put back
padded_states_and_columns.py  states and columns with padding, so that few sizes are compiled
scan_programs.py              the programs that replay
schedule.py                   which events may be rated at the same time: the host side of exact parallel replay
sharding.py                   what is spread over several devices
step_assignment.py            the step of each event
kernel/                       the replay in one kernel of a GPU, and estimates of what a GPU takes
"""
