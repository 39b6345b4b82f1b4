"""The version of troth: part of every signature and of every run folder."""

__version__ = "0.1.0"
