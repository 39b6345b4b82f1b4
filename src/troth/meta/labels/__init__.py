"""Metrics of grounded responses against people's labels, and calibrations fitted on them."""
