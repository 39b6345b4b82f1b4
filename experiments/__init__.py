"""The papers' experiments at a size for two cores: `make experiments`; the results are in docs/experiments.md."""
