"""`troth completion`, and what the shell is offered for values: names of all kinds, and paths.

click completes commands, options and choices by itself. What else there is to say stands here, in one place and by the
names of options, and is loaded when a shell asks: no other call pays for it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping

import click
from click.shell_completion import CompletionItem, get_completion_class

from troth.cli import show
from troth.core.errors import UserError

SHELLS = ("bash", "zsh", "fish")
VARIABLE = "_TROTH_COMPLETE"

Names = Mapping[str, str]  # each with a line about it, which zsh and fish show
Offer = Callable[[tuple[str, ...]], Names]  # from the command to what there is


@click.command()
@click.argument("shell", type=click.Choice(SHELLS), required=False)
def completion(shell: str | None) -> None:
    """Print the script by which a shell completes commands, options and names.

    \b
    bash:  echo 'eval "$(troth completion bash)"' >> ~/.bashrc
    zsh:   echo 'eval "$(troth completion zsh)"' >> ~/.zshrc
    fish:  troth completion fish > ~/.config/fish/completions/troth.fish

    Without a name, for the shell that $SHELL tells of.
    """
    from troth.cli import app

    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    found = get_completion_class(name) if name in SHELLS else None
    if found is None:
        raise UserError(f"'{name}' is not a shell that is known here", hint="one of: " + ", ".join(SHELLS))
    show.text(found(app, {}, "troth", VARIABLE).source())


# -- what there is -----------------------------------------------------------------------------------------------------


def _profiles(_: tuple[str, ...]) -> Names:
    from troth.tracking.profiles import PROFILES

    return {name: profile.summary for name, profile in PROFILES.items()}


def _rules(rule: str) -> Offer:
    def offer(_: tuple[str, ...]) -> Names:
        from troth.tracking.profiles import OPTIONS

        return dict.fromkeys(OPTIONS[rule], "")

    return offer


def _metrics(command: tuple[str, ...]) -> Names:
    """Those of the command; of commands that take any run, all."""
    made: dict[str, str] = {}
    if command[0] in ("dst", "explain", "robust", "compare", "gate", "table"):
        from troth.tracking import metrics as aggregate

        made |= {name: aggregate.METRICS.get(name, ("", aggregate.FGA))[1] for name in aggregate.names()}
    if command[0] in ("nlg", "compare", "gate", "table"):
        from troth.responses.metrics import ABOUT

        made |= ABOUT
    if command[0] in ("ground", "generate", "meta", "compare", "gate", "table"):
        from troth.grounding.metrics import METRICS

        made |= dict.fromkeys(METRICS, "")
    return made


def _formats(command: tuple[str, ...]) -> Names:
    from troth.readers import FORMATS
    from troth.readers.grounded import FORMATS as DOCUMENTS

    documents = command in (
        ("ground",),
        ("generate", "ground"),
        ("generate", "sweep"),
        ("meta", "eval"),
        ("meta", "fit"),
    )
    return dict.fromkeys(DOCUMENTS if documents else FORMATS, "")


def _pred_formats(command: tuple[str, ...]) -> Names:
    from troth.readers.responses import FORMATS

    return dict.fromkeys(FORMATS, "") if command == ("nlg",) else _formats(command)


def _forms(command: tuple[str, ...]) -> Names:
    """`--to`: a format that can be written, or what a table is written as."""
    if command in (("convert",), ("perturb", "dialogue")):
        return dict.fromkeys(("sgd", "checkdst", "mwzeval", "jsonl"), "")
    return dict.fromkeys(("plain", "markdown", "latex", "csv", *(["json"] if command == ("table",) else [])), "")


def _groups(command: tuple[str, ...]) -> Names:
    return dict.fromkeys(("service", "domain", "act", "slot", "kind") if command == ("nlg",) else GROUPS, "")


def _perturbations(_: tuple[str, ...]) -> Names:
    from troth.perturb import FAMILIES

    return dict.fromkeys(FAMILIES, "")


def _backends(_: tuple[str, ...]) -> Names:
    from troth.models import KINDS

    return {name: about for name, about in KINDS.items() if name.islower()}  # the others are patterns


def _models(_: tuple[str, ...]) -> Names:
    from troth.models import catalog as models

    return {status.name: status.about for status in models.listed()}


def _kinds(_: tuple[str, ...]) -> Names:
    from troth.cli.data import KINDS

    return dict.fromkeys(KINDS, "")


GROUPS = ("service", "domain", "slot", "turn")

ONE: dict[str, Offer] = {
    "profile": _profiles, "start": _profiles, "end": _profiles, "metric": _metrics,
    "format": _formats, "pred_format": _pred_formats, "to": _forms,
    "nli": _backends, "lm": _backends, "model": _backends,
    "match": _rules("match"), "unit": _rules("unit"), "missing": _rules("missing"), "fga": _rules("fga"),
    "names": _models, "what": _kinds,
}  # fmt: skip
MANY: dict[str, Offer] = {  # with commas
    "metrics": _metrics, "families": _perturbations, "by": _groups,
    "profiles": lambda command: {**_profiles(command), "all": "every one that applies"},
}  # fmt: skip
FOLDERS = ("RUN", "RUN...", "DIR", "SGDX")  # metavars of folders
FILES = ("FILE", "GOLD", "DEV", "SHEET")  # of options; a text that is an argument is a path unless it is named above


# -- offering it -------------------------------------------------------------------------------------------------------


class _Text(click.types.StringParamType):
    """A text as ever, with something to offer."""

    def __init__(self, offer: Callable[[str], Iterable[CompletionItem]]) -> None:
        self.offer = offer

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        return list(self.offer(incomplete))


def equip(command: click.Command, path: tuple[str, ...]) -> None:
    """Let a command's parameters offer their values to the shell that asks."""
    if isinstance(command, click.Group):
        for name, sub in command.commands.items():
            equip(sub, (*path, name))
    for param in command.params:
        offer = _offer(param, path)
        if offer is not None:
            param.type = _Text(offer)


def _offer(param: click.Parameter, command: tuple[str, ...]) -> Callable[[str], Iterable[CompletionItem]] | None:
    name = param.name or ""
    if not isinstance(param.type, click.types.StringParamType):
        return None
    if param.metavar in FOLDERS:
        return lambda incomplete: [CompletionItem(incomplete, type="dir")]
    if param.metavar in FILES:
        return lambda incomplete: [CompletionItem(incomplete, type="file")]
    if name in MANY:
        return lambda incomplete: _listed(MANY[name](command), incomplete)
    if name in ONE and param.metavar != "SIZE":
        return lambda incomplete: _beginning(ONE[name](command), incomplete)
    if isinstance(param, click.Argument):
        return lambda incomplete: [CompletionItem(incomplete, type="file")]
    return None


def _beginning(names: Names, incomplete: str, before: str = "") -> list[CompletionItem]:
    return [
        CompletionItem(before + name, help=about or None)
        for name, about in names.items()
        if name.startswith(incomplete)
    ]


def _listed(names: Names, incomplete: str) -> list[CompletionItem]:
    """The last of several with commas; those that stand before it are not offered again."""
    done, comma, last = incomplete.rpartition(",")
    left = {name: about for name, about in names.items() if name not in done.split(",")}
    return _beginning(left, last, done + comma)
