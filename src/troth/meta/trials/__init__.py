"""Trials of metrics on material that is made for them: tampered acts, reworded schemas, corrupted responses."""
