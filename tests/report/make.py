"""Runs to make pages of: the bundled dialogues through the command line, and a corpus that means harm."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
from click.testing import CliRunner

from troth import demo
from troth.cli import app
from troth.cli.report import source
from troth.report import kept
from troth.report.page.model import Source

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))
EVIL = '</script><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1>{{script}}'


def run(*arguments: str) -> str:
    """A command that must succeed; what it prints."""
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def tracked(out: Path, *options: str, profile: str = "trade") -> str:
    run("dst", GOLD, HASTY, STURDY, "--profile", profile, "--out", str(out), *options)
    return str(out)


def varied(out: Path) -> str:
    variants = [f"v1={HASTY}", f"v2={STURDY}", f"v3={GOLD}", f"orig={STURDY}"]
    run("robust", "sgdx", GOLD, *variants, "--name", "tracker", "--out", str(out))
    return str(out)


def perturbed(out: Path) -> str:
    """The demo against a twin whose user turns have another word in them, with other predictions."""
    twin = out.parent / f"{out.name}-twin"
    twin.mkdir(parents=True)
    (twin / "schema.json").write_bytes(Path(GOLD, "schema.json").read_bytes())
    dialogues = load(GOLD)
    for dialogue in dialogues:
        for turn in dialogue["turns"]:
            if turn["speaker"] == "USER":
                turn["utterance"] = f"well, {turn['utterance']}"
            for frame in turn["frames"]:
                frame["slots"] = []
    write(twin, dialogues)
    run(
        "robust", "checkdst", f"{GOLD},{strip(HASTY, out.parent / f'{out.name}-a')}",
        f"SDI={twin},{strip(STURDY, out.parent / f'{out.name}-b')}",
        "--profile", "trade", "--name", "tracker", "--out", str(out),
    )  # fmt: skip
    return str(out)


def strip(folder: str, out: Path) -> str:
    """Predictions without what was said: they fit any wording."""
    dialogues = load(folder)
    for dialogue in dialogues:
        for turn in dialogue["turns"]:
            turn["utterance"] = ""
    write(out, dialogues)
    return str(out)


def answered(out: Path) -> str:
    """Responses of two systems: gold's own words, and half of them."""
    files = []
    for name, part in (("whole", 1.0), ("half", 0.5)):
        file = out.parent / f"{out.name}-{name}.jsonl"
        rows = [
            {"dialogue": dialogue["dialogue_id"], "turn": place, "response": cut(turn["utterance"], part)}
            for dialogue in load(GOLD)
            for place, turn in enumerate(dialogue["turns"])
            if turn["speaker"] == "SYSTEM"
        ]
        file.write_text("\n".join(map(json.dumps, rows)))
        files.append(f"{name}={file}")
    run("nlg", GOLD, *files, "--metrics", "ser,sgsacc", "--nli", "fake", "--no-cache", "--out", str(out))
    return str(out)


def cut(text: str, part: float) -> str:
    words = text.split()
    return " ".join(words[: max(1, round(len(words) * part))])


def grounded(out: Path) -> str:
    """Responses with documents, half of them beside the point, all labelled; scored by overlap alone."""
    document = "The lighthouse at Port Linnet was built in 1838 and can be seen from twelve miles away."
    rows = [
        {
            "id": f"r{number}", "document": f"{document} Room {number} is open.", "history": ["When was it built?"],
            "response": f"It was built in 1838, room {number}." if number % 2 else "Bananas grow on Mars.",
            "label": number % 2, "source": "quiz" if number % 3 else "chat",
        }
        for number in range(24)
    ]  # fmt: skip
    file = out.parent / f"{out.name}.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    run("ground", f"bot={file}", "--metrics", "nli", "--nli", "fake", "--no-cache", "--out", str(out))
    return str(out)


def hostile(out: Path, *, evil: str = EVIL) -> str:
    """A run in which ids, services, slots, values, texts and the system's name would all do harm as markup."""
    folder = out.parent / f"{out.name}-data"
    (folder / "gold").mkdir(parents=True)
    (folder / "pred").mkdir()
    service, slots = f"svc{evil}", [f"slot{evil}", "fine"]
    schema = [{"service_name": service, "slots": [{"name": name} for name in slots], "intents": []}]
    (folder / "gold" / "schema.json").write_text(json.dumps(schema))
    for side, value in (("gold", f"gold{evil}"), ("pred", f"pred{evil}")):
        turns = []
        for number in range(3):
            said = {slots[0]: [value], "fine": ["yes"]} if number else {}
            state = {"active_intent": f"intent{evil}", "requested_slots": [], "slot_values": said}
            turns.append(
                {"speaker": "USER", "utterance": f"user{evil}", "frames": [{"service": service, "state": state}]}
            )
            turns.append({"speaker": "SYSTEM", "utterance": f"system{evil}", "frames": []})
        dialogues = [{"dialogue_id": f"id{evil}{i}", "services": [service], "turns": turns} for i in range(2)]
        (folder / side / "dialogues_001.json").write_text(json.dumps(dialogues))
    run("dst", str(folder / "gold"), str(folder / "pred"), "--match", "exact", "--out", str(out))
    rename(out, "pred", evil)
    return str(out)


def rename(out: Path, old: str, new: str) -> None:
    """The system under another name, in all of a run's files: the command line would take a slash for a path."""
    before, after = (json.dumps(name, ensure_ascii=False).encode() for name in (old, new))
    file = out / "run.json"
    file.write_bytes(file.read_bytes().replace(b'"system": ' + before, b'"system": ' + after))
    rows = pl.read_parquet(out / "rows.parquet")
    rows.with_columns(system=pl.lit(new)).write_parquet(out / "rows.parquet")
    dialogues = out / kept.NAME
    lines = gzip.decompress(dialogues.read_bytes()).replace(b'"system":' + before, b'"system":' + after)
    dialogues.write_bytes(gzip.compress(lines))


def load(folder: str) -> Any:
    return json.loads((Path(folder) / "dialogues_001.json").read_bytes())


def write(folder: Path, dialogues: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dialogues_001.json").write_text(json.dumps(dialogues))


def page(out: Path, *runs: str) -> Path:
    run("report", *runs, "--out", str(out))
    return out


def sources(*runs: str) -> list[Source]:
    return [source(path) for path in runs]
