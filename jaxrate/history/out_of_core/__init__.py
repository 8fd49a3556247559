"""Histories larger than memory, rated from Parquet files chunk by chunk.

parquet_rating.py       `rate` by chunks: a folder of results, and the history of it
chunk_pipeline.py       chunks read, scheduled, rated and written, until a signal asks to stop
event_chunks.py         events in chunks of a table, with ids in place of names
table_reading.py        how the columns of a table are read, found out once
duckdb_sort.py          tables put in order of time by DuckDB
checkpoints.py          checkpoints of runs by chunks, how a run goes on from them, and saved runs of them
"""
