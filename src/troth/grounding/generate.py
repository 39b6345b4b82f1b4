"""Responses generated from documents: a file of contexts in, a file of responses out; and a sweep over settings."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from troth import models as backends
from troth.core.errors import UserError
from troth.core.records import Grounded
from troth.core.version import __version__
from troth.grounding import metrics as scorers
from troth.grounding import overlap as grounding
from troth.grounding import sweep as settings
from troth.grounding.metrics import Metric, Models, Unscored, Value
from troth.grounding.sweep import Bounds, Cell
from troth.models.hub import embedded, source
from troth.readers import grounded as readers
from troth.storage.cache import Store
from troth.storage.files import check_new, new_file

if TYPE_CHECKING:
    from troth.grounding.generator import Responder, Response, Style
    from troth.grounding.pmi_decode import Setting

Progress = Callable[[int, int], None]
Grammar = Callable[[Grounded], bool]  # whether a response is free of errors
Key = tuple[float, float]  # α and p

LM = "smollm2-135m-instruct"
RELEVANCE = "rouge_l to the data's response"
GRAMMAR = "grammatical errors"
NO_GOLD = "the data has no response"
PLAIN: Key = (0.0, 1.0)  # without α, p moves nothing


class Made(msgspec.Struct, frozen=True):
    """What was generated."""

    responses: int
    tokens: int
    empty: int  # responses without a word
    shortened: int  # contexts that were longer than the model reads
    without: int  # contexts that have no document, and so no response
    signature: str

    @property
    def notes(self) -> list[str]:
        made = [f"{self.empty} responses have no word in them"] if self.empty else []
        return made + _about(self.without, self.shortened)


def _about(without: int, shortened: int) -> list[str]:
    made = [f"{without} contexts have no document, and were left out"] if without else []
    lost = "contexts were longer than the model reads, and lost the end of their document"
    return made + ([f"{shortened} {lost}"] if shortened else [])


class Contexts(NamedTuple):
    """What to respond to, and how many had no document and are not among them."""

    items: list[Grounded]
    without: int


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
        from troth.grounding.generator import Responder
    except ImportError as error:
        from troth.models.hub import lacking

        raise lacking(error) from error
    if model.startswith(("http://", "https://")) or model == "fake":
        hint = "embedded, hf:ORG/MODEL or a folder"
        raise UserError(f"'{model}' gives no access to its probabilities while it generates", hint=hint)
    return Responder(embedded(LM) if model == "embedded" else source(model), Store.at(cache), style=style)


def load(data: str, *, format: str | None = None, limit: int | None = None) -> Contexts:
    """The contexts to respond to, the first `limit` that have a document."""
    items: list[Grounded] = []
    without = 0
    for item in readers.read(data, format):
        if len(items) == limit:
            break
        if item.document.strip():
            items.append(item)
        else:
            without += 1
    if not items:
        raise UserError("no response with a document in it", file=data, hint="see docs/formats.md for the layouts")
    return Contexts(items, without)


def named(metrics: Sequence[str], models: Models) -> dict[str, Metric]:
    """Metrics by their signatures. A name or a model that does not exist is told here, before anything is generated."""
    return {scorers.signature(one): one for one in scorers.metrics(metrics, models)}


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
    check_new(out)
    items, without = load(data, format=format, limit=limit)
    made = model.responses(items, setting, progress=progress)
    recipe = model.recipe(setting)
    with new_file(out) as file:
        for item, one in zip(items, made, strict=True):
            row = Row(item.id, item.document, item.history, one.text, item.source, {"recipe": recipe})
            file.write(msgspec.json.encode(row) + b"\n")
    return Made(
        responses=len(made),
        tokens=sum(one.tokens for one in made),
        empty=sum(not one.text for one in made),
        shortened=sum(one.dropped > 0 for one in made),
        without=without,
        signature=f"GENERATE|{recipe}|n:{len(made)}|v:{__version__}",
    )


# -- the sweep ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Swept:
    """Table 5: a cell for each setting, and the setting with the highest sum of faithfulness and relevance."""

    cells: list[Cell]
    metrics: list[str]  # faithfulness, relevance, grammar
    responses: int  # to each setting
    by: str | None  # the metric of faithfulness that is normalised, and picked by
    bounds: Bounds | None  # of plain decoding; None: it has no two values
    picked: Cell | None
    notes: list[str]
    signature: str

    @property
    def normal(self) -> str | None:
        return None if self.by is None else normal(self.by)


def normal(metric: str) -> str:
    return f"{metric}, normalised"


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
    `module:function` from a text to whether it is right. Without `metrics` that is all. Plain decoding is always
    generated: faithfulness is normalised by it.
    """
    wanted = settings.grid(alphas, ps)
    chosen = named(metrics, models) if metrics else {}
    checker = _checker(grammar) if grammar else None
    grounding.recipe("rouge_l")  # tells what is not installed before anything is generated
    items, without = load(data, format=format, limit=limit)
    each = {key: replace(setting, alpha=key[0], top_p=key[1]) for key in dict.fromkeys([PLAIN, *map(_key, wanted)])}
    found = model.sweep(items, list(each.values()), progress=progress)
    made = {key: _answered(items, found[one]) for key, one in each.items()}
    values = _values(items, made, list(chosen.values()), checker)
    shortened = sum(one.dropped > 0 for one in found[each[PLAIN]])
    notes = [*_about(without, shortened), *_unscored(values)]
    notes += [f"{metric.name}: {remark}" for metric in chosen.values() for remark in metric.remarks]
    by = settings.judge([metric.name for metric in chosen.values()])
    bounds = None if by is None else settings.bounds(_numbers(values[by][PLAIN]))
    cells = [_cell(one, values, by, bounds) for one in wanted]
    picked = None if by is None else settings.pick(cells, (normal(by), RELEVANCE))
    kept = [part for part in model.recipe(setting).split("|") if not part.startswith(("alpha:", "p:"))]
    kept += [] if bounds is None else [f"normal:{by}:plain", f"low:{bounds.low:.6g}", f"high:{bounds.high:.6g}"]
    signature = "|".join(["SWEEP", *kept, f"n:{len(items)}", f"v:{__version__}"])
    return Swept(cells, list(values), len(items), by, bounds, picked, notes, "; ".join([signature, *chosen]))


def _key(wanted: Key) -> Key:
    return wanted if wanted[0] else PLAIN


def _answered(items: Sequence[Grounded], responses: Sequence[Response]) -> list[Grounded]:
    return [msgspec.structs.replace(item, response=one.text) for item, one in zip(items, responses, strict=True)]


def _values(
    items: Sequence[Grounded], made: dict[Key, list[Grounded]], metrics: Sequence[Metric], checker: Grammar | None
) -> dict[str, dict[Key, list[Value]]]:
    """By metric and setting a value for each response, or why there is none."""
    everything = [item for some in made.values() for item in some]
    found: dict[str, list[Value]] = {metric.name: scorers.scored(metric, everything) for metric in metrics}
    gold = [item.response for item in items] * len(made)
    found[RELEVANCE] = [
        grounding.rouge_l(reference, item.response) if reference.strip() else Unscored(NO_GOLD)
        for reference, item in zip(gold, everything, strict=True)
    ]
    if checker is not None:
        found[GRAMMAR] = [float(not checker(item)) for item in everything]
    starts = range(0, len(everything), len(items))
    return {
        name: {key: some[start : start + len(items)] for key, start in zip(made, starts, strict=True)}
        for name, some in found.items()
    }


def _numbers(values: Sequence[Value]) -> list[float | None]:
    return [None if isinstance(value, Unscored) else value for value in values]


def _cell(wanted: Key, values: dict[str, dict[Key, list[Value]]], by: str | None, bounds: Bounds | None) -> Cell:
    own = {name: _numbers(some[_key(wanted)]) for name, some in values.items()}
    if by is not None:
        own[normal(by)] = settings.normalised(own[by], bounds)
    return settings.cell(*wanted, own)


def _unscored(values: dict[str, dict[Key, list[Value]]]) -> Iterator[str]:
    """What has no value, by setting; in one line what holds for all of them."""
    for name, some in values.items():
        why: dict[tuple[str, int], list[Key]] = {}
        for key, row in some.items():
            for told in Counter(value.reason for value in row if isinstance(value, Unscored)).items():
                why.setdefault(told, []).append(key)
        each = len(some[PLAIN])
        for (reason, count), keys in why.items():
            where = [f"α {a:g}, p {p:g}" if a else "α 0" for a, p in keys] if len(keys) < len(some) else ["all α and p"]
            yield from (f"{place}: {name}: {count} of {each} not scored: {reason}" for place in where)


def _checker(path: str) -> Grammar:
    """The function of that name, also from a module in the current folder, which an installed command does not see."""
    module, _, name = path.partition(":")
    hint = "module:function, from a text to True where it is right"
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        found: Any = getattr(import_module(module), name)
    except Exception as error:
        raise UserError(f"no checker of grammar is called '{path}': {error}", hint=hint) from error
    finally:
        sys.path.remove(here)
    if not callable(found):
        raise UserError(f"'{path}' is no function", hint=hint)

    def right(item: Grounded) -> bool:
        try:
            return bool(found(item.response))
        except Exception as error:
            said = str(error) or type(error).__name__
            raise UserError(f"the checker '{path}' fails on the response to '{item.id}': {said}") from error

    return right
