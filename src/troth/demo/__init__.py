"""Dialogues, predictions, responses and documents that ship with the package, written for it."""

from importlib.resources import files


def path(name: str) -> str:
    """Path of a bundled folder or file.

    `gold` has the dialogues. Of the trackers `hasty` and `sturdy`: their predictions, on perturbed dialogues
    (`twins/hasty-NED.jsonl`) and under reworded schemas (`wordings/hasty-v1.jsonl`). `responses/terse.jsonl` and
    `fluent`: what generators say. `documents/careful.jsonl` and `chatty`: answers from documents; `judged`: others, to
    learn a threshold from. `templates`: sentences for acts. `agents/sturdy.jsonl` and `hasty`: conversations of two
    assistants that call the tools of `agents/tools.json`.
    """
    return str(files(__name__).joinpath("data", *name.split("/")))
