"""Text by rules alone: words, sentences, identifiers, numbers, dates, names, and normal forms of slots and values.

Word lists are data files in `data/`, read on first use.
"""
