"""Runs: files in, results out. What the command line and `import troth` both call."""
