"""Options about data and models that the settings of several tasks have."""

from __future__ import annotations

from typing import Any

from troth.core.options import option


def format_option(what: str, formats: str = "troth.readers:FORMATS") -> Any:
    return option(None, f"Format of {what}. Default: detected.", "NAME", complete=(formats,))


def schema_option(beside: str = "the data") -> Any:
    return option(None, f"Schema of the services, if it is not beside {beside}.", "FILE")


def train_schema_option() -> Any:
    return option(None, "Training schema; adds scores for seen and unseen services.", "FILE")


def nli_option(purpose: str = "") -> Any:
    help = f"Entailment model {purpose}".rstrip() + "; see `troth ls backends`."
    return option("embedded", help, "NAME", complete=("troth.models:BACKENDS",))


def shots_option() -> Any:
    help = "Train on some dialogues: a share (5%), a number per domain, or a file of ids."
    return option(None, help, "SHOTS")
