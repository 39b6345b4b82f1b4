"""How the embedded trackers were made."""
