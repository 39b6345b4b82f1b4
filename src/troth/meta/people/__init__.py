"""Sheets for annotators, and the agreement of their answers with each other and with a metric."""
