"""Figures: us beside a peer, in one process tree, as ratios. `make bench`."""
