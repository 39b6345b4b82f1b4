"""Dialogues and predictions that ship with the package, written for it."""

from importlib.resources import files


def path(name: str) -> str:
    """Path of a bundled folder: `gold`, a tracker's predictions (`hasty` or `sturdy`), or `templates`."""
    return str(files(__name__).joinpath("data", name))
