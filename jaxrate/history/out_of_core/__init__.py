"""Histories larger than memory, rated from files chunk by chunk.

rating_by_chunks.py     `rate` by chunks: a folder of results, and the history of it
chunk_pipeline.py       chunks read, scheduled, rated and written, until a signal asks to stop
event_chunks.py         events in chunks of a table, which DuckDB puts in order of time, with ids in place of names
table_reading.py        how the columns of a table are used, found out once
checkpoints.py          checkpoints of runs by chunks, how a run goes on from them, and saved runs of them
"""
