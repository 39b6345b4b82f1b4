"""Simulates the dialogues that the embedded trackers follow in the demo: a user and a system, from schemas.

    python -m tests.demo_live

writes the bundled dialogues, their schema and its other wordings anew, the same ones each time. `--text` prints the
dialogues instead, to be read.

Each file in `services` describes one service: its schema, the wordings of it, values, things to be found, and
sentences for both sides. The user has a goal and follows one of `simulator.PLANS`. Sentences that were used less often
are preferred. In a sentence, `{slot}` is the value of a slot, `{a slot}` has an article before it and `{on slot}` an
"on" where the value takes one. `{slot=value|words}` says a value in other words, and `{slot~words}` refers to a value
of another service. Parts in [brackets] are left out where a value is not known. The annotation follows from the
sentences: an act for each value that is told, a span for each that is not one of a closed list, and the state that
they lead to. Restaurants, coaches and shows, which corpora for training have as well, come more often than the others.
"""
