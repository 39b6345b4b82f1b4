"""Responses generated from documents: a file of contexts in, a file of responses out; and a sweep over settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import msgspec

from troth import __version__, backends
from troth.backends.hub import embedded, source
from troth.backends.store import Store
from troth.errors import UserError
from troth.generate import sweep as settings
from troth.generate.sweep import Cell
from troth.metrics import grounding
from troth.readers import grounded as readers
from troth.records import Grounded
from troth.runner.files import new_file, refuse
from troth.scorers import grounded as scorers
from troth.scorers.grounded import Models, Unscored

if TYPE_CHECKING:
    from troth.generate.grounded import Responder, Response, Style
    from troth.generate.pmi_decode import Setting

Progress = Callable[[int, int], None]
Grammar = Callable[[str], bool]  # whether a response is free of errors

LM = "smollm2-135m-instruct"
NORMAL = "pmi_faith, normalised"
RELEVANCE = "rouge_l to the data's response"
GRAMMAR = "grammatical errors"


class Made(msgspec.Struct, frozen=True):
    """What was generated."""

    responses: int
    tokens: int
    empty: int  # responses without a word
    shortened: int  # contexts that were longer than the model reads
    signature: str


class Row(msgspec.Struct, frozen=True, omit_defaults=True):
    """A line of the file: our JSONL, as `troth ground` reads it."""

    id: str
    document: str
    history: tuple[str, ...]
    response: str
    source: str = ""
    meta: dict[str, Any] = {}


def responder(model: str = "embedded", *, cache: str | None = backends.USUAL, style: Style = "plain") -> Responder:
    """The model of that name: `embedded`, `hf:ORG/MODEL@REV` or a folder."""
    try:
        from troth.generate.grounded import Responder
    except ImportError as error:
        from troth.backends.hub import lacking

        raise lacking(error) from error
    if model.startswith(("http://", "https://")) or model == "fake":
        hint = "embedded, hf:ORG/MODEL or a folder"
        raise UserError(f"'{model}' gives no access to its probabilities while it generates", hint=hint)
    return Responder(embedded(LM) if model == "embedded" else source(model), Store.at(cache), style=style)


def load(data: str, *, format: str | None = None, limit: int | None = None) -> list[Grounded]:
    """The contexts to respond to; what has no document is not one of them."""
    items = [item for item in readers.read(data, format) if item.document.strip()]
    if not items:
        raise UserError("no response with a document in it", file=data, hint="see docs/formats.md for the layouts")
    return items[:limit]


def respond(
    data: str,
    out: str,
    model: Responder,
    setting: Setting,
    *,
    format: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Made:
    """Generate a response to each document and history of a file, and write them to the new file `out`."""
    refuse(out)
    items = load(data, format=format, limit=limit)
    made = model.responses(items, setting, progress=progress)
    recipe = model.recipe(setting)
    with new_file(out) as file:
        for item, one in zip(items, made, strict=True):
            row = Row(item.id, item.document, item.history, one.text, item.source, {"recipe": recipe})
            file.write(msgspec.json.encode(row) + b"\n")
    return _made(made, f"GENERATE|{recipe}|n:{len(made)}|v:{__version__}")


def _made(responses: Sequence[Response], signature: str) -> Made:
    return Made(
        responses=len(responses),
        tokens=sum(one.tokens for one in responses),
        empty=sum(not one.text for one in responses),
        shortened=sum(one.dropped > 0 for one in responses),
        signature=signature,
    )


# -- the sweep ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Swept:
    """Table 5: a cell for each setting, and the setting with the highest sum of faithfulness and relevance."""

    cells: list[Cell]
    metrics: list[str]
    picked: Cell | None
    signature: str


def sweep(
    data: str,
    model: Responder,
    setting: Setting,
    *,
    alphas: Sequence[float] = settings.ALPHAS,
    ps: Sequence[float] = settings.PS,
    metrics: Sequence[str] = ("pmi_faith", "nli"),
    models: Models,
    grammar: str | None = None,
    format: str | None = None,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Swept:
    """Generate with every α and p, everything else as in `setting`, and score what comes out.

    Relevance is ROUGE-L to the response that the data has; `grammar` names a checker, a function of Python as
    `module:function` from a text to whether it is right.
    """
    from dataclasses import replace

    wanted = settings.grid(alphas, ps)
    chosen = scorers.metrics(metrics, models)
    checker = _checker(grammar) if grammar else None
    grounding.recipe("rouge_l")  # tells what is not installed before anything is generated
    items = load(data, format=format, limit=limit)
    made: dict[tuple[float, float], list[Grounded]] = {}
    for number, (alpha, p) in enumerate(wanted):

        def step(done: int, total: int, number: int = number) -> None:
            if progress is not None:
                progress(number * total + done, len(wanted) * total)

        # Without α, p moves nothing.
        texts = model.responses(items, replace(setting, alpha=alpha, top_p=p if alpha else 1.0), progress=step)
        made[alpha, p] = [
            msgspec.structs.replace(item, response=one.text) for item, one in zip(items, texts, strict=True)
        ]
    everything = [item for some in made.values() for item in some]
    values: dict[str, list[float | None]] = {}
    for metric in chosen:
        found = scorers.scored(metric, everything)
        values[metric.name] = [None if isinstance(value, Unscored) else value for value in found]
    gold = [item.response for item in items]
    values[RELEVANCE] = [
        grounding.rouge_l(reference, item.response) if reference.strip() else None
        for some in made.values()
        for reference, item in zip(gold, some, strict=True)
    ]
    if checker is not None:
        values[GRAMMAR] = [float(not checker(item.response)) for item in everything]
    return _swept(wanted, len(items), values, model.recipe(setting), [scorers.signature(one) for one in chosen])


def _swept(
    wanted: Sequence[tuple[float, float]],
    each: int,
    values: dict[str, list[float | None]],
    recipe: str,
    signatures: Sequence[str],
) -> Swept:
    starts = range(0, each * len(wanted), each)
    first = next(iter(values))
    parts = settings.normalised([values[first][start : start + each] for start in starts])
    normal = NORMAL if first == "pmi_faith" else f"{first}, normalised"
    cells = []
    for number, (alpha, p) in enumerate(wanted):
        own = {name: some[number * each : (number + 1) * each] for name, some in values.items()}
        cells.append(settings.cell(alpha, p, {**own, normal: parts[number]}))
    kept = [part for part in recipe.split("|") if not part.startswith(("alpha:", "p:"))]
    signature = "|".join(["SWEEP", *kept, f"n:{each}", f"v:{__version__}"])
    picked = settings.pick(cells, (normal, RELEVANCE))
    return Swept(cells, [*values, normal], picked, "; ".join([signature, *signatures]))


def _checker(path: str) -> Grammar:
    module, _, name = path.partition(":")
    try:
        found: Any = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        hint = "module:function, from a text to True where it is right"
        raise UserError(f"no checker of grammar is called '{path}': {error}", hint=hint) from error
    checker: Grammar = found
    return checker
