"""What assistants, trackers and generators leave on disk, to be damaged: transcripts, runs, weights, predictions."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.test_hostile import FILES as TRANSCRIPTS
from tests.torture import sandbox, works
from tests.torture.subjects import DATA, NEW, QUICK, Subject


def transcripts(folder: Path) -> list[Subject]:
    """Every layout of transcripts, and a file of tools beside them."""
    tools = "transcripts-tools.json"
    (folder / tools).write_bytes((DATA / "agents" / "tools.json").read_bytes())
    subjects = []
    for name, value in TRANSCRIPTS.items():
        file = f"transcripts-{name}.json"
        (folder / file).write_text(json.dumps(value))
        commands = (
            ("agent", "score", file, "--tools", tools, "--resamples", "10"),
            ("agent", "score", file, "--json", "--resamples", "10"),
            ("agent", "states", file, "--out", NEW),
        )
        subjects.append(Subject(f"transcripts of {name}", (file, file, tools), commands))
    return subjects


def live_runs(folder: Path) -> list[Subject]:
    """The folder of a live run, and what it was made from."""
    works.lay_tasks(folder)
    run = (*works.AGENT, "live", "--limit", "2", "--parallel", "1")
    works.done(folder, *run)
    trial = "live/original/trial-0.jsonl"
    trial = trial if (folder / trial).exists() else str(next(folder.glob("live/*/trial-0.jsonl")).relative_to(folder))
    commands = (run, run, ("agent", "score", trial, *QUICK), ("report", "live/result", "--out", NEW))
    files = tuple(str(path.relative_to(folder)) for path in sorted((folder / "live").rglob("*")) if path.is_file())
    fresh = (*run[: run.index("live")], NEW, *run[run.index("live") + 1 :])
    return [
        Subject("live run", files, commands, "live"),
        Subject("tasks of a live run", ("tasks.json", "tools.json"), (fresh,)),
    ]


def trackers(folder: Path) -> list[Subject]:
    """The folder of a training, of a tracker, and of its predictions."""
    sandbox.import_models()
    works.lay_models(folder)
    track = ("track", "trained", "corpus", "--sets", "orig,SDI", "--limit", "1", "--out")
    works.done(folder, *track, "tracked")
    trained, tracked, tracker = (
        tuple(str(path.relative_to(folder)) for path in sorted((folder / name).rglob("*")) if path.is_file())
        for name in ("trained", "tracked", "trained/best-jga")
    )
    score = ("dst", "tracked/data/orig", "tracked/orig", "--resamples", "10")
    twins = ("robust", "checkdst", "tracked/data/orig,tracked/orig", "SDI=tracked/data/SDI,tracked/SDI")
    return [
        Subject("training run", trained, (works.TRAIN, ("train", "curve", "trained")), "trained"),
        Subject("tracker", tracker, ((*track, NEW), works.TRAIN), "trained"),
        Subject("model to train", ("bert/config.json", "bert/model.safetensors", "bert/tokenizer.json"),
                (tuple(part.replace("trained", NEW) for part in works.TRAIN),)),
        Subject("predictions", tracked, (score, twins, (*track, "tracked")), "tracked"),
    ]  # fmt: skip


def generators(folder: Path) -> list[Subject]:
    """The folders of generators, of all weights and of prefixes; `trackers` comes first, and lays their model."""
    works.done(folder, *works.SPEAK)
    prefixes = tuple(part.replace("spoken", "prefixes") for part in works.SPEAK)
    works.done(folder, *prefixes, "--method", "pt")
    spoken, trained, of_prefixes = (
        tuple(str(path.relative_to(folder)) for path in sorted((folder / name).rglob("*")) if path.is_file())
        for name in ("spoken/last", "spoken", "prefixes/last")
    )
    quick = ("corpus", "--limit", "1", "--beams", "2", "--nli", "fake", "--no-cache", "--out", NEW)
    one, two = ("generate", "respond", "spoken", *quick), ("generate", "respond", "prefixes", *quick)
    both = (*one, "--with", "prefixes")
    return [
        Subject("training of a generator", trained, (works.SPEAK, ("train", "curve", "spoken")), "spoken"),
        Subject("generator", spoken, (one, both, (*both, "--exact")), "spoken"),
        Subject("prefixes", of_prefixes, (two, both, (*prefixes, "--method", "pt")), "prefixes"),
    ]


def corruptions(folder: Path) -> list[Subject]:
    """Answers and corruptions of them, as `troth stress ground` writes them."""
    stress = ("stress", "ground", "--metrics", "coverage", "--resamples", "10")
    works.done(folder, *stress, str(DATA / "documents" / "careful.jsonl"), "--corrupted", "corrupted.jsonl")
    commands = (
        ("ground", "corrupted.jsonl", "--metrics", "u_f1", "--resamples", "10"),
        (*stress, "corrupted.jsonl", "--corrupted", NEW),
        ("meta", "eval", "corrupted.jsonl", "--metrics", "u_f1,coverage", *QUICK),
    )
    return [Subject("corruptions", ("corrupted.jsonl",), commands)]


PARTS = (transcripts, live_runs, corruptions, trackers, generators)
