"""Histories larger than memory: rated chunk by chunk, from Parquet to Parquet, and resumed after a stop."""
