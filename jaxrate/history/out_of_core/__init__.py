"""Histories larger than memory, rated from files chunk by chunk.

rating_by_chunks.py     `rate` by chunks: read, scheduled, rated and written, until a signal asks to stop
chunk_reading.py        chunks of a table as events, which DuckDB puts in order of time, with ids in place of names
checkpoints.py          checkpoints of runs by chunks, how a run goes on from them, and saved runs of them
"""
