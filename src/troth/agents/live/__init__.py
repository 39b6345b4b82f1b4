"""Live runs: an assistant answers recorded conversations under its own and under reworded tools."""
