"""troth tells whether a dialogue system is true, and helps to make it so."""

__version__ = "0.1.0"
