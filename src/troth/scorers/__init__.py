"""Metrics that need a model: they ask a backend and never load one themselves."""
