"""What everything else stands on: types of arrays, checks of arguments, hyperparameters, rules and systems.

argument_checks.py               arguments of public functions are what their annotations say
array_types.py                   names for arrays of the host and of JAX
backend_dependent_operations.py  operations that each backend does in its own way
compiled_program_cache.py        compiled programs, kept on disk
hashable_values.py               functions and arrays that can be keys
hyperparameter_definitions.py    hyperparameters: range, unit and meaning, as factories of systems declare them
mean_reversion.py                what time does to ratings: leads fade, by the clock and from season to season
memory_checks.py                 whether what is asked for fits into memory
optional_imports.py              packages that need not be installed
pairwise_rules.py                formulas of one game serve matches and rating periods
parallel_map.py                  a function over items, by an executor
rules.py                         what a system does with one event
system.py                        RatingSystem: rules and their hyperparameters
text_format.py                   numbers, names and tables as text
"""
