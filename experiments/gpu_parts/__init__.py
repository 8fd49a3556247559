"""The parts of `gpu_record.py`: each measures one subject, case by case, in a process of its own.

contract_and_references.py   what every system must satisfy, and the ratings of the CPU and of other programs
kernel_agreement.py          the one-launch kernel beside the loop
graph_loops.py               whole replays in one CUDA graph beside a graph for each step
replays.py                   matches a second of histories, by the loop and by the kernel
blat_mmr_algorithms.py       BlatMMR by each algorithm
settings_at_once.py          many settings, or many histories, in one program; memory
fit_starts.py                a fit from many starts
chunks.py                    a history longer than memory, with reading and without it
host_cores.py                the same on the cores of the host

histories.py                 simulated histories, shared by all
replay_clock.py              how a replay is arranged and timed
case_record.py               the file of a part: rows of cases, written as they end
smallest_case.py             the smallest case that fails as a larger one did
child_process.py             a part, or one case, in a process that may crash or hang
conclusions.py               measured numbers beside estimates, and the tables that they replace
answers.py                   what is decided by the numbers of each part
__main__.py                  what such a process does

A part is a module with `cases(options)`, which lists what identifies each case, and `run(case, options)`, which returns
the numbers of one, or fails. A case is a dict of numbers and texts, so it can be written, made smaller and run again.
"""
