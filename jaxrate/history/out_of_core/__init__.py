"""Histories larger than memory, rated from files chunk by chunk.

rating_by_chunks.py     `rate` by chunks: a folder of results, and the history of it
chunk_pipeline.py       chunks read, scheduled, rated and written, until a signal asks to stop
event_chunks.py         events in chunks of a table in order of time
player_ids.py           ids of players whose names come a chunk at a time
table_reading.py        how the columns of a table are used, found out once
duckdb_sort.py          tables put in order of time by DuckDB
checkpoints.py          checkpoints of runs by chunks, how a run goes on from them, and saved runs of them
"""
