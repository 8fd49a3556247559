"""Histories replayed, exactly and many events at once.

plan.py              plans: which events are rated at the same time; events in the slots of a plan
schedule.py          how plans are made, and the step of each event: the host side of exact parallel replay
checked_replay.py    the door to a replay, and predictions of upcoming events
execution.py         programs that rate a plan are compiled and called, and slopes through them
compiler_options.py  options of XLA for the programs of replays
scan_programs.py     the programs that replay
player_rows.py       rows of players: taken from the state, packed and put back
padded_arrays.py     states and columns with padding, so that few sizes are compiled; over several devices
kernel/              the replay in one kernel of a GPU, and estimates of what a GPU takes
"""
