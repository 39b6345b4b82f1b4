"""Runs generators over dialogues: n-best lists with likelihoods, and the response that the fidelity reranker chooses.

Several generators are an ensemble (SGSAcc, section 3): their lists for a turn become one, from which the reranker
chooses. Those that share their weights (a model, and prefixes that were trained on it) are decoded in one go;
so is a decoder with prefixes of its base, as the difference to it (`difference`).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from troth.core.data_options import format_option, nli_option, schema_option
from troth.core.errors import UserError
from troth.core.extras import require
from troth.core.names import Path, name_paths, path_of
from troth.core.options import cache_file, keywords, option, resolve, seed_option
from troth.core.records import Schema
from troth.core.signature import signature
from troth.models import Nli
from troth.readers.shots import draw
from troth.responses import corpus
from troth.responses import templates as template_files
from troth.responses.nbest import encode_choice
from troth.responses.rerank import Choice, Nbest, RerankRecipe, rerank_all
from troth.storage.files import check_new, new_file
from troth.systems.generators.card import GeneratorCard, read_card
from troth.systems.generators.encodings import ResponseTurn, response_turns

if TYPE_CHECKING:
    from troth.systems.generators.decode import ScoredText
    from troth.systems.generators.model import ResponseGenerator


@dataclass(frozen=True)
class RespondSettings:
    beams: int = option(4, "Number of beams of the search, and of candidates of each generator.", least=1, most=64)
    count: int | None = option(
        None, "Number of responses per generator to choose from. Default: one per beam.", "N", flag="--nbest", least=1
    )
    rerank: bool = option(
        False, "Let the reranker choose even if there is one generator; of several it always chooses."
    )
    gated: bool = option(False, "The reranker counts an act only if the response contains its values.")
    exact: bool = option(
        False, "Load a fine-tuned model as a whole beside prefixes of its base, not as a rounded difference."
    )
    base: Path | None = option(None, "Weights that prefixes belong to, if they were moved.", "NAME")
    templates: Path | None = option(None, "Folder of further templates; those of training are known.", "FOLDER")
    limit: int | None = option(None, "Number of dialogues, drawn by the seed.", least=0, zero="all")
    seed: int = seed_option("Random seed of the drawn dialogues.")
    schema: Path | None = schema_option()
    format: str | None = format_option("the dialogues")
    nli: str | Nli = nli_option("of the reranker")
    cache: Path | None = cache_file()


class Responses(msgspec.Struct, frozen=True):
    """Summary of generated responses."""

    turns: int
    systems: tuple[str, ...]
    models: int  # sets of weights in memory
    seconds: float  # of decoding
    changed: int | None  # responses that are not the likeliest; None: the reranker was not asked
    faithful: int | None  # responses that entail all acts that can be judged
    signature: str | None  # of the reranker
    notes: tuple[str, ...] = ()


@keywords(RespondSettings)
def respond(model: Path | Sequence[Path], data: Path, out: Path, **options: Any) -> Responses:
    """Writes a response to every system turn of `data` that has acts to the new file `out`.

    `model`: a folder that `train_response` wrote, or several (also `NAME=FOLDER`), which are an ensemble. A line of the
    file has the response and the list that it was chosen from. `troth.nlg` scores it. The options are those of
    `RespondSettings`.

    >>> respond(["ft", "pt"], "sgd/test", "responses.jsonl", limit=50)  # doctest: +SKIP
    """
    settings = resolve(RespondSettings, options)
    require("torch", "transformers", extra="neural")
    check_new(path_of(out))
    paths = [model] if isinstance(model, str) or not isinstance(model, Sequence) else list(model)
    folders = dict(name_paths(paths, "generator"))
    for path in folders.values():
        read_card(path)  # refuses a folder that is not a generator before the data is read
    read = corpus.read(data, settings.schema, format=settings.format)
    if settings.limit is not None:
        ids = {dialogue.id for dialogue in draw(read.dialogues, settings.limit, settings.seed)}
        read = read._replace(turns=[turn for turn in read.turns if turn.dialogue in ids])
    turns = response_turns(read)
    if not turns:
        raise UserError("no system turn with acts in it", file=path_of(data), hint="is it the right data?")
    systems = open_generators(folders, settings)
    start = time.monotonic()
    lists = decode_systems(systems, turns, read.schema, settings.beams)
    seconds = time.monotonic() - start
    count = settings.count or settings.beams
    merged = [_merge({name: texts[:count] for name, texts in by_system.items()}) for by_system in lists]
    choices: list[Choice] | None = None
    nli = corpus.open_model(settings.nli, settings.cache) if settings.rerank or len(systems) > 1 else None
    with new_file(path_of(out)) as file:
        if nli is not None:
            nbests = [_to_nbest(turn, candidates) for turn, candidates in zip(turns, merged, strict=True)]
            choices = rerank_all(nbests, nli, gated=settings.gated)
            for turn, choice in zip(turns, choices, strict=True):
                file.write(encode_choice(*turn.system.key, choice))
        else:
            for turn, candidates in zip(turns, merged, strict=True):
                file.write(_line(turn, candidates))
    descriptions = corpus.classify_descriptions(read.schema)
    return Responses(
        turns=len(turns),
        systems=tuple(systems),
        models=len({id(system.network) for system in systems.values()}),
        seconds=round(seconds, 3),
        changed=None if choices is None else sum(choice.choice != choice.likeliest for choice in choices),
        faithful=None if choices is None else sum(choice.fidelity == choice.acts for choice in choices),
        signature=None if nli is None or choices is None else signature(
            "rerank", RerankRecipe.for_model(nli, gated=settings.gated, augment="never", descriptions=descriptions),
            n=len(choices),
        ),
        notes=tuple(corpus.description_notes(descriptions)) if nli is not None else (),
    )  # fmt: skip


def open_generators(paths: Mapping[str, str], settings: RespondSettings) -> dict[str, ResponseGenerator]:
    """The generators by name. Prefixes take the weights of one that is open, where they belong to them."""
    from troth.systems.generators.model import open_generator

    more = {} if settings.templates is None else template_files.read(path_of(settings.templates))
    cards = {name: read_card(path)[1] for name, path in paths.items()}
    systems: dict[str, ResponseGenerator] = {}
    for name in _order(cards):
        beside = () if settings.exact and cards[name].method == "ft" else tuple(systems.values())
        systems[name] = open_generator(paths[name], base=settings.base, beside=beside)
        systems[name].templates.update(more)
    return {name: systems[name] for name in paths}


def _order(cards: Mapping[str, GeneratorCard]) -> list[str]:
    """Models that were trained from the same weights as prefixes come after them, and share these weights."""
    bases = {card.base for card in cards.values() if card.method == "pt"}
    return sorted(cards, key=lambda name: cards[name].method == "ft" and cards[name].base in bases)


def decode_systems(
    systems: Mapping[str, ResponseGenerator], turns: Sequence[ResponseTurn], schema: Schema, beams: int
) -> list[dict[str, list[ScoredText]]]:
    """The n-best list of each system for each turn; systems with the same weights in one go."""
    from troth.systems.generators.decode import nbest

    lists: list[dict[str, list[ScoredText]]] = [{} for _ in turns]
    shared: dict[int, list[str]] = {}
    for name, system in systems.items():
        shared.setdefault(id(system.network), []).append(name)
    for names in shared.values():
        for group in _decoding_groups({name: systems[name] for name in names}):
            members = [systems[name] for name in group]
            sources = [source for system in members for source in system.sources(turns, schema)]
            flags = [system.prefixes is not None for system in members for _ in turns]
            changed = any(system.difference is not None for system in members)
            prefix = next((system.prefixes for system in members if system.prefixes is not None), None)
            answers = iter(nbest(members[0].network, sources, beams=beams, prefix=prefix, flags=flags, changed=changed))
            for name in group:
                for by_system in lists:
                    by_system[name] = next(answers)
    return [{name: by_system[name] for name in systems} for by_system in lists]


def _decoding_groups(systems: Mapping[str, ResponseGenerator]) -> list[list[str]]:
    """Names of systems to decode together: those without prefixes with the first that has some; others one by one."""
    plain = [name for name, system in systems.items() if system.prefixes is None]
    tuned = [name for name, system in systems.items() if system.prefixes is not None]
    return [[*plain, *tuned[:1]], *([name] for name in tuned[1:])]


class _Merged(msgspec.Struct):
    text: str
    score: float
    system: str


def _merge(lists: Mapping[str, Sequence[ScoredText]]) -> list[_Merged]:
    """One list, the likeliest first; a text that several systems give is in it once, with its highest score."""
    merged: dict[str, _Merged] = {}
    for system, texts in lists.items():
        for text, score in texts:
            known = merged.setdefault(text, _Merged(text, score, system))
            known.score = max(known.score, score)
            if system not in known.system.split("+"):
                known.system += f"+{system}"
    return sorted(merged.values(), key=lambda candidate: -candidate.score)


def _to_nbest(turn: ResponseTurn, candidates: Sequence[_Merged]) -> Nbest:
    texts, scores, systems = zip(*((each.text, each.score, each.system) for each in candidates), strict=True)
    return Nbest(texts, turn.system.acts, turn.system.previous, scores, systems)


def _line(turn: ResponseTurn, merged: Sequence[_Merged]) -> bytes:
    dialogue, number = turn.system.key
    candidates = [{"text": each.text, "score": each.score} for each in merged]
    row = {"dialogue": dialogue, "turn": number, "response": merged[0].text, "candidates": candidates}
    return msgspec.json.encode(row) + b"\n"
