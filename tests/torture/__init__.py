"""A seeded attack on the command line: kills, damaged files, hostile archives, servers that misbehave.

Whatever is done to it, a command gives a result (exit code 0), or says in one line what is wrong (2). It never prints a
traceback, never exits with 1, which is a gate's verdict, never hangs, needs bounded memory, and leaves neither
processes nor half-written files.

    python -m tests.torture --minutes 10 --seed 1

tries everything in turn until the time is over. `tests/torture/test_torture.py` runs a small part of it.
"""
