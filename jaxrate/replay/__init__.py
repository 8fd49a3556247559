"""Histories replayed, exactly and many events at once.

block_programs.py             programs of blocks: the steps of one block of a schedule, replayed or predicted
blocks.py                     periods and rounds, events of differing sizes, in blocks of equal padded size
checked_replay.py             the door to a replay
compiler_options.py           options of XLA for the programs of replays
event_prediction.py           predictions of upcoming events from a state
execution.py                  how replays are executed: compiled by a policy, in place, and block after block
hyperparameter_slopes.py      slopes of a replay by its hyperparameters, computed forwards
row_gather_and_scatter.py     rows of players: taken from the state, packed and put back
padded_sizes.py               the sizes to which columns, schedules and events are padded
padded_states_and_columns.py  arrays of these sizes
plan_column_replacement.py    columns of plans: changed, padded, and put where a plan has them
scan_programs.py              the programs that replay
schedule.py                   which events may be rated at the same time: the host side of exact parallel replay
sharding.py                   what is spread over several devices
step_assignment.py            the step of each event
kernel/                       the replay in one kernel of a GPU, and estimates of what a GPU takes
block_sizes.py                the sizes to which events of differing sizes are padded
"""
