"""What is damaged: small inputs of every reader, and every kind of file that troth itself writes and reads again."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.test_mutations import FILES, ONE_SIDED, OTHERS, written
from tests.readers.grounded_samples import SAMPLES, lay
from tests.torture import sandbox
from troth import demo

DATA = Path(demo.path("gold")).parent
NEW = "{new}"  # stands for a name that does not exist yet
QUICK = ("--resamples", "100")


@dataclass(frozen=True)
class Subject:
    """A folder with files to damage, and commands that read them. All names are relative to the folder."""

    name: str
    files: tuple[str, ...]
    commands: tuple[tuple[str, ...], ...]
    whole: str = ""  # a folder that the commands change, too; it is put back with the file


def laid(folder: Path) -> Iterator[Subject]:
    """Writes the subjects into a folder one after the other, by troth itself where they are troth's own."""
    from tests.torture import systems

    folder.mkdir(parents=True)
    own = (_trackers, _others, _grounded, _responses, _runs, _sheets, _cache, _calibration, _schemas)
    for part in (*own, *systems.PARTS):
        yield from part(folder)


def spoilt(whole: bytes, chance: random.Random) -> bytes:
    """Damaged content: bytes changed, or where it is JSON (or lines of it), values and keys."""
    from tests.cli.test_mutations import dumped, garbled, restructured

    if chance.random() < 0.5:
        try:
            return dumped(restructured(json.loads(whole), chance), chance)
        except (ValueError, RecursionError, TypeError):
            pass
        try:
            lines = [json.loads(line) for line in whole.splitlines() if line.strip()]
            return b"\n".join(dumped(one, chance) for one in restructured(lines, chance))
        except (ValueError, RecursionError, TypeError):
            pass
    return garbled(whole, chance)


def _troth(folder: Path, *arguments: str) -> None:
    outcome = sandbox.call(arguments, folder)
    if outcome.code != 0:
        raise RuntimeError(f"troth {' '.join(arguments)}: {outcome.err}")


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def _trackers(folder: Path) -> list[Subject]:
    for name in ("gold", "pred"):
        _write(folder / name / "dialogues_001.json", FILES[name])
    _write(folder / "gold" / "schema.json", FILES["schema"])
    files = ("gold/dialogues_001.json", "pred/dialogues_001.json", "gold/schema.json")
    commands = (
        ("dst", "gold", "pred", "--json", "--resamples", "10", "--workers", "1"),
        ("dst", "gold", "pred", "--out", NEW, "--workers", "2"),
        ("explain", "gold", "pred"),
        ("check", "gold"),
        ("convert", "gold", NEW, "--to", "jsonl"),
        ("perturb", "dialogue", "gold", NEW, "--with", "disfluency,entities", "--workers", "2"),
    )
    return [Subject("SGD", files, commands)]


def _others(folder: Path) -> list[Subject]:
    subjects = []
    for name, value in OTHERS.items():
        format, place = name.partition(" ")[0], name.replace(" ", "-")
        for copy in ("good", "bad"):
            (folder / f"{place}-{copy}.json").write_bytes(written(value, format, random.Random(0)))
        good, bad = f"{place}-good.json", f"{place}-bad.json"
        commands = [("dst", good, bad), ("dst", bad, good), ("convert", bad, NEW, "--to", "jsonl")]
        if format not in ONE_SIDED:
            commands += [("dst", bad, "--by", "slot"), ("robust", "checkdst", good, f"PI={bad}")]
        subjects.append(Subject(name, (bad,), tuple(commands)))
    return subjects


def _grounded(folder: Path) -> list[Subject]:
    subjects = []
    for name in SAMPLES:
        place = folder / f"grounded-{name}"
        place.mkdir()
        file = lay(place, name).relative_to(folder)
        beside = tuple(str(path.relative_to(folder)) for path in place.iterdir())
        commands = (("ground", str(file), "--json"), ("ground", str(file), "--statistics"))
        subjects.append(Subject(f"ground {name}", beside, commands))
    return subjects


def _responses(folder: Path) -> list[Subject]:
    gold, said = str(DATA / "gold"), (DATA / "responses" / "fluent.jsonl").read_bytes()
    (folder / "responses.jsonl").write_bytes(said)
    lists = []
    for line in said.splitlines():
        row = json.loads(line)
        text = next(row[name] for name in ("response", "text", "utterance") if name in row)
        key = {name: row[name] for name in ("dialogue", "turn") if name in row}
        lists.append({**key, "candidates": [{"text": "Yes.", "score": -1.5}, {"text": text, "score": -2.0}]})
    (folder / "nbest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in lists))
    plain = ("--nli", "fake", "--no-cache")
    _troth(folder, "generate", "rerank", gold, "nbest.jsonl", "--out", "chosen.jsonl", *plain)
    nlg = ("nlg", gold, *plain, "--resamples", "10")
    return [
        Subject("responses", ("responses.jsonl",), ((*nlg, "responses.jsonl"),)),
        Subject("n-best lists", ("nbest.jsonl",),
                (("generate", "rerank", gold, "nbest.jsonl", "--out", NEW, *plain),)),
        Subject("chosen responses", ("chosen.jsonl",), ((*nlg, "chosen.jsonl"),)),
    ]  # fmt: skip


def _runs(folder: Path) -> list[Subject]:
    for name in ("hasty", "sturdy"):
        _troth(folder, "dst", str(DATA / "gold"), str(DATA / name), "--out", f"run-{name}", "--resamples", "100")
    documents = [str(DATA / "documents" / f"{name}.jsonl") for name in ("careful", "chatty")]
    _troth(folder, "ground", *documents, "--out", "run-ground", "--resamples", "100")
    spoiled = tuple(str(path.relative_to(folder)) for path in sorted((folder / "run-sturdy").iterdir()))
    pair = ("run-hasty", "run-sturdy")
    commands = (
        ("report", *pair, "--out", NEW),
        ("compare", *pair, *QUICK),
        ("gate", *pair, "--metric", "jga", "--margin", "1"),
        ("table", *pair),
        ("table", *pair, "--to", "latex"),
    )
    grounded = tuple(str(path.relative_to(folder)) for path in sorted((folder / "run-ground").iterdir()))
    ground = (("report", "run-ground", "--out", NEW), ("table", "run-ground"), ("compare", "run-ground", *QUICK))
    return [Subject("run folder of dst", spoiled, commands), Subject("run folder of ground", grounded, ground)]


def _sheets(folder: Path) -> list[Subject]:
    said = [str(DATA / "responses" / f"{name}.jsonl") for name in ("fluent", "terse")]
    plain = ("--nli", "fake", "--no-cache", "--resamples", "10")
    _troth(folder, "nlg", str(DATA / "gold"), *said, *plain, "--out", "run-nlg")
    _troth(folder, "meta", "annotate", "run-nlg", "--out", "sheet.csv", "--system", "fluent", "--pairs", "6")
    for copy in ("one.csv", "two.csv"):
        with (folder / "sheet.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with (folder / copy).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows({**row, "faithful": "yes"} for row in rows)
    agree = ("meta", "agree", "one.csv", "two.csv", "--resamples", "10")
    files = ("one.csv", "sheet.csv.key.json" if (folder / "sheet.csv.key.json").exists() else "sheet.key.json")
    return [Subject("sheets", files, (agree, (*agree, "--key", files[1])))]


def _cache(folder: Path) -> list[Subject]:
    score = ("ground", str(DATA / "documents" / "careful.jsonl"), "--metrics", "nli", "--cache", "cache.sqlite")
    _troth(folder, *score)
    listing = ("cache", "--cache", "cache.sqlite")
    commands = (listing, listing, (*listing, "trim", "--to", "1MB"), score)
    return [Subject("cache", ("cache.sqlite",), commands)]


def _calibration(folder: Path) -> list[Subject]:
    judged, careful = (str(DATA / "documents" / f"{name}.jsonl") for name in ("judged", "careful"))
    _troth(folder, "meta", "fit", judged, "--metrics", "u_f1,bleu", "--out", "calibration.json")
    command = ("ground", careful, "--metrics", "u_f1,bleu", "--calibration", "calibration.json")
    return [Subject("calibration", ("calibration.json",), (command, (*command, "--out", NEW)))]


def _schemas(folder: Path) -> list[Subject]:
    for name, source in (("paraphrases.json", "wordings/paraphrases.json"), ("tools.json", "agents/tools.json")):
        (folder / name).write_bytes((DATA / source).read_bytes())
    (folder / "templates").mkdir()
    for path in (DATA / "templates").iterdir():
        (folder / "templates" / path.name).write_bytes(path.read_bytes())
    gold = str(DATA / "gold")
    compose = ("perturb", "schema", gold, NEW, "--make", "compose", "--paraphrases", "paraphrases.json", "--count", "1")
    corrupt = ("perturb", "schema", "tools.json", NEW, "--make", "corrupt", "--count", "1")
    templates = ("generate", "templates", gold, "--templates", "templates", "--out", NEW)
    files = tuple(f"templates/{path.name}" for path in sorted((folder / "templates").iterdir()))
    return [
        Subject("paraphrases", ("paraphrases.json",), (compose,)),
        Subject("tools", ("tools.json",), (corrupt,)),
        Subject("templates", files, (templates,)),
    ]
