"""Histories larger than memory, rated from Parquet files chunk by chunk.

parquet_rating.py                rate_files: the public function and its result
chunk_pipeline.py                chunks read, scheduled, rated and written side by side
event_chunks.py                  events in chunks of Parquet files, with ids of names
duckdb_sort_and_ids.py           tables put in order of time by DuckDB
checkpoints.py                   the file of a checkpoint
background_threads.py            prefetch, and writing behind
stop_signals.py                  SIGTERM and Ctrl-C during a run
rate_files_runs_as_histories.py  rated histories from the folder of a run
run_resumption.py                how a run of `rate_files` goes on
"""
