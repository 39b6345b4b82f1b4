"""Generators of responses to train and to run: by all weights, by prefixes, both together; and from documents.

`train` and `grounded` train, `respond` runs one generator or several and writes a file; `model` is their common
part, `prefix` the prefixes, `decode` the search, `encodings` how acts become text.
"""
