"""Metrics that need no model: pure functions from a gold dialogue and its prediction to parts of a ratio."""
