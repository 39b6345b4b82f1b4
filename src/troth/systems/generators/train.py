"""Trains generators of responses: acts in, words out, by all weights (ft) or by prefixes (pt).

The loop, its checkpoints and curves are those of the trackers (`troth.systems.training`). The defaults are the SGSAcc
paper's (appendix E): AdamW at a fixed rate of 1e-4, batches of 8, three epochs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path as Folder
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from troth.core.data_options import format_option, nli_option, schema_option, shots_option
from troth.core.digest import ordered_digest
from troth.core.errors import UserError
from troth.core.extras import require
from troth.core.names import Path, parse_names, path_of
from troth.core.options import cache_file, keywords, option, record_arguments, resolve, seed_option
from troth.core.progress import note
from troth.models import Nli
from troth.readers.shots import Shots, sample
from troth.responses import corpus, ser, sgsacc, tamper
from troth.responses import templates as template_files
from troth.responses.corpus import ActCorpus
from troth.responses.templates import Templates
from troth.systems.generators.card import GeneratorCard, Method, describe, folder_of
from troth.systems.generators.encodings import Encoding, ResponseTurn, encode_acts, example, response_turns, source_of
from troth.systems.loggers import check_installed, report_to
from troth.systems.runs import fit_settings, training_claim, write_curve
from troth.systems.text import TextNetwork
from troth.systems.training import Fitting, Key, Metrics, fit

if TYPE_CHECKING:
    from troth.systems.generators.model import GeneratorModel

PAPER = {"epochs": 3.0, "batch": 8, "rate": 1e-4, "schedule": "constant", "warmup": 0.0}
BEST_LOSS, BEST_SGSACC = "best-loss", "best-sgsacc"


@dataclass(frozen=True)
class ResponseTrainSettings:
    method: Method = option(
        "ft", "Train all weights (ft), or only prefixes of ten keys and values (pt).", choices=get_args(Method)
    )
    model: Path = option("embedded", "Base model: a folder, hf:ORG/MODEL, or embedded (SmolLM2-135M).", "NAME")
    encoding: Encoding = option(
        "template", "How acts are written: sentences by templates, names, or descriptions.",
        choices=("template", "naive", "schema"),
    )  # fmt: skip
    templates: Path | None = option(
        None, "Folder with a .tsv file of templates per service; acts without one get a generic sentence.", "FOLDER"
    )
    shots: Shots | None = shots_option()
    dev: Path | None = option(None, "Dialogues to measure loss, SER and SGSAcc on.", "FILE")
    dev_limit: int | None = option(
        100, "Number of system turns of the dev data, drawn by the seed.", least=0, zero="all"
    )
    schema: Path | None = schema_option()
    format: str | None = format_option("the dialogues")
    length: int = option(256, "Most tokens of an input.", least=1)
    answer: int = option(64, "Most tokens of a response.", least=1)
    nli: str | Nli = nli_option("of SGSAcc on the dev data")
    cache: Path | None = cache_file()
    fit: Mapping[str, Any] = option({}, "Fields of `FitSettings`, in place of the paper's.", shape="python")
    seed: int = seed_option("Random seed.")
    log_to: str | Sequence[str] = option((), "Also report to tensorboard, mlflow or wandb, comma-separated.", "NAMES")


class TrainedGenerator(msgspec.Struct, frozen=True):
    """Result of a training run."""

    folder: str
    steps: int
    trained: int  # numbers that were trained
    parameters: int  # all parameters
    best: dict[str, float]  # by the folder of a kept model: the value that it was kept for


@keywords(ResponseTrainSettings)
def train_response(data: Path, out: Path, **options: Any) -> TrainedGenerator:
    """Trains a generator on the system turns of dialogues with acts, and writes it to the folder `out`.

    A call with the same arguments resumes an interrupted run, with the same result. The options are those of
    `ResponseTrainSettings`; `fit` has the fields of `FitSettings`. `troth.respond(out, …)` runs the generator.

    >>> train_response("sgd/train", "pt", method="pt", shots="5_shot.txt", dev="sgd/dev")  # doctest: +SKIP
    """
    require("torch", "transformers", extra="train")
    import torch

    from troth.systems.generators.model import GeneratorModel, fingerprint

    settings = resolve(ResponseTrainSettings, options)
    check_installed(parse_names(settings.log_to))
    templates = {} if settings.templates is None else template_files.read(path_of(settings.templates))
    folder, how = Folder(path_of(out)), fit_settings({**PAPER, **settings.fit}, settings.seed)
    claim = training_claim(record_arguments(settings, data=path_of(data)) | {"fit": dict(settings.fit)})
    claim.check(folder)
    read = corpus.read(data, settings.schema, format=settings.format)
    dialogues = sample(read.dialogues, settings.shots, settings.seed)
    ids = {dialogue.id for dialogue in dialogues}
    read = ActCorpus(dialogues, [turn for turn in read.turns if turn.dialogue in ids], read.schema)
    turns = response_turns(read)
    if settings.encoding == "template":
        _note_missing_templates(turns, templates)
    torch.manual_seed(settings.seed)  # of the networks of prefixes
    network = TextNetwork(folder_of(settings.model), length=settings.length, answer=settings.answer)
    card = GeneratorCard(settings.method, settings.encoding, _whole(settings.model), fingerprint(network.module),
                         settings.length, settings.answer, training=asdict(how))  # fmt: skip
    model = GeneratorModel(network, settings.method)
    every = sum(weight.numel() for weight in network.module.parameters())
    note(f"{model.count:,} of {every + model.count * (settings.method == 'pt'):,} numbers are trained")
    learned = [_example(network, turn, read, card, templates) for turn in turns if turn.system.gold.strip()]
    evaluation = None if settings.dev is None else ResponseEvaluation(settings, card, templates)
    claim.make(folder)  # once everything is read: bad input leaves no folder behind
    fitting = Fitting(
        model,
        learned,
        [] if evaluation is None else evaluation.examples(network),
        None if evaluation is None else lambda: evaluation(model),
        {} if evaluation is None else KEYS,
        report_to(parse_names(settings.log_to), folder, asdict(how)),
        lambda kept, metrics: describe(kept, msgspec.structs.replace(card, metrics=metrics), templates),
        {
            "training data": ordered_digest([*read.dialogues, read.schema, templates]),
            "dev data": ordered_digest([] if evaluation is None else [*evaluation.corpus.dialogues]),
        },
    )
    state = fit(fitting, folder, how)
    if evaluation is not None:
        write_curve(folder)
    return TrainedGenerator(str(folder), state.step, model.count, every, state.best)


KEYS: dict[str, Key] = {BEST_LOSS: lambda metrics: -metrics["dev_loss"], BEST_SGSACC: lambda metrics: metrics["sgsacc"]}


class ResponseEvaluation:
    """Measures a generator on some system turns as it is: SER and SGSAcc of its likeliest responses."""

    def __init__(self, settings: ResponseTrainSettings, card: GeneratorCard, templates: Templates) -> None:
        self.card, self.templates = card, templates
        self.corpus = corpus.read(path_of(settings.dev or ""), format=settings.format)
        turns = {turn.system.key: turn for turn in response_turns(self.corpus)}
        drawn = corpus.shuffle_turns([turn.system for turn in turns.values()], settings.seed)[: settings.dev_limit]
        self.turns = [turns[turn.key] for turn in drawn if turn.gold.strip()]
        if not self.turns:
            raise UserError("no system turn with acts and words in it", file=path_of(settings.dev or ""))
        self.nli = corpus.open_model(settings.nli, settings.cache)
        self.slots = ser.noncategorical_slots(self.corpus.schema)
        self.references = sgsacc.prepare(
            [turn.system for turn in self.turns],
            self.nli,
            pool=tamper.collect_values(self.corpus.dialogues),
            validate=False,
        )
        if not any(reference.hypotheses for references in self.references for reference in references):
            what = "no act in it that SGSAcc can judge"
            raise UserError(what, file=path_of(settings.dev or ""), hint="draw more turns, or name other dialogues")

    def examples(self, network: TextNetwork) -> list[Any]:
        return [_example(network, turn, self.corpus, self.card, self.templates) for turn in self.turns]

    def __call__(self, model: GeneratorModel) -> Metrics:
        from troth.systems.generators.decode import nbest

        sources = [source_of(model.network, self._text(turn)) for turn in self.turns]
        answers = nbest(model.network, sources, beams=1, prefix=model.prefixes)
        texts = [likeliest.text for likeliest, *_ in answers]
        systems = [turn.system for turn in self.turns]
        verdicts = sgsacc.verdicts(systems, self.references, texts, self.nli)
        judged = [[one.entailed for one in mine if one.reference is not None] for mine in verdicts]
        right = [all(mine) for mine in judged if mine]  # SGSAcc leaves out a turn that no rule fits
        wrong = [
            bool(ser.missing_values(ser.due_values(turn.frames, self.slots), text))
            for turn, text in zip(self.turns, texts, strict=True)
        ]
        return {"ser": sum(wrong) / len(wrong), "sgsacc": sum(right) / len(right)}

    def _text(self, turn: ResponseTurn) -> str:
        return encode_acts(turn, self.corpus.schema, self.card.encoding, self.templates)


def _example(network: TextNetwork, turn: ResponseTurn, read: ActCorpus, card: GeneratorCard, known: Templates) -> Any:
    return example(network, encode_acts(turn, read.schema, card.encoding, known), turn.system.gold)


def _whole(model: Path) -> str:
    """The name of a model, or the whole path of its folder, which prefixes are found by."""
    text = path_of(model)
    return str(Folder(text).resolve()) if Folder(text).exists() else text


def _note_missing_templates(turns: Sequence[ResponseTurn], templates: Templates) -> None:
    services = sorted({frame.service for turn in turns for frame in turn.frames} - templates.keys())
    if services:
        more = f" and {len(services) - 3} more" if len(services) > 3 else ""
        note(f"no templates for {', '.join(services[:3])}{more}: generic sentences are used in their place")
