"""The papers' experiments, repeated at a size that two cores can do: `make experiments`; results: docs/experiments.md."""
