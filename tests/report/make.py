"""Runs to make pages of: the bundled dialogues through the command line, and a corpus that means harm."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from click.testing import CliRunner

from tests.agents import server as servers
from troth import demo
from troth.agents.live.run import run_agent
from troth.cli import app
from troth.core.encoding import decode_json, encode_json
from troth.core.groups import ALL
from troth.core.metric import Metric
from troth.core.result import Result
from troth.core.score import Score
from troth.perturb import schemas
from troth.report.page.names import open_runs
from troth.report.sources import ScoredSystem, Source
from troth.robustness.checkdst import checkdst
from troth.robustness.sgdx import sgdx
from troth.storage import explorer
from troth.storage import runs as stored
from troth.storage.files import sha256

GOLD, HASTY, STURDY = (demo.path(name) for name in ("gold", "hasty", "sturdy"))
EVIL = '</script><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1>{{script}}'
NAME = "</script><svg><script>window.pwned</script>"  # of a perturbation, or of a wording
LOST = "<marquee>nothing</marquee>"  # a response that says none of its acts
FOLDER = '<img src=x onerror="window.pwned=1">'  # as a folder is: no slash


def run(*arguments: str) -> str:
    """A command that must succeed; what it prints."""
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def tracked(out: Path, *options: str, profile: str = "trade") -> str:
    run("dst", GOLD, HASTY, STURDY, "--profile", profile, "--out", str(out), *options)
    return str(out)


def many(out: Path, number: int) -> str:
    """Trackers `s00`, `s01`, …: the two of the demo in turn, each later pair with more of its values forgotten."""
    named = []
    for place in range(number):
        dialogues = load(HASTY if place % 2 else STURDY)
        rng = random.Random(place)
        for turn in (turn for dialogue in dialogues for turn in dialogue["turns"]):
            for frame in turn["frames"] if turn["speaker"] == "USER" else ():
                values = frame["state"]["slot_values"]
                for slot in [slot for slot in values if rng.random() < place // 2 * 0.03]:
                    del values[slot]
        folder = out.parent / f"{out.name}-s{place:02}"
        write(folder, dialogues)
        named.append(f"s{place:02}={folder}")
    run("dst", GOLD, *named, "--profile", "trade", "--out", str(out))
    return str(out)


def copied(run: str, names: Sequence[str]) -> list[str]:
    """Copies of a run of the system `tracker`, each under another name."""
    folders = [Path(shutil.copytree(run, f"{run}-{number}")) for number in range(len(names))]
    for folder, name in zip(folders, names, strict=True):
        rename(folder, "tracker", name)
    return [str(folder) for folder in folders]


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


def assisted(out: Path) -> str:
    """The two assistants of the demo."""
    files = [demo.path(f"agents/{name}") for name in ("hasty.jsonl", "sturdy.jsonl", "tools.json")]
    run("agent", "score", *files[:2], "--tools", files[2], "--by", "tool", "--out", str(out))
    return str(out)


def replayed(out: Path, *, evil: str = "") -> str:
    """A live run in which rewording loses an argument of one tool, and gives a better name to that of another."""
    out.mkdir()
    text = json.dumps([servers.TOOLS, servers.tasks(12)]).replace("_order", f"_order{json.dumps(evil)[1:-1]}")
    tools, tasks = json.loads(text)
    tools[1]["function"]["parameters"]["properties"]["id"]["description"] = "unclear"
    lost = {"names": [f"key{evil}"], "descriptions": ["what is meant"]}
    better = {"names": [f"order number{evil}"], "descriptions": ["the number of the order"]}
    said = {f"cancel_order{evil}": {"slots": {"id": lost}}, f"find_order{evil}": {"slots": {"id": better}}}
    for name, value in (("tools", tools), ("tasks", tasks), ("said", said)):
        (out / f"{name}.json").write_text(json.dumps(value))
    composed = {"compose": {"paraphrases": str(out / "said.json"), "count": 1}}
    schemas.vary(out / "tools.json", out / "words", with_=composed)
    run_agent(
        servers.policy,
        out / "tasks.json",
        tools=out / "tools.json",
        variants="v1",
        from_=out / "words",
        out=out / "run",
    )
    return str(out / "run/result")


def hostile_assistants(out: Path) -> str:
    """Trials in which tasks, tools, arguments, values, results, messages and claims would do harm as markup."""
    rows = [_hostile_trial(number) for number in range(2)]
    file = out.parent / "evil.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    run("agent", "score", str(file), "--out", str(out))
    rename(out, "evil", f"assistant{EVIL}")
    return str(out)


def _hostile_trial(number: int) -> dict[str, object]:
    arguments = {f"argument{EVIL}": f"value{EVIL}{number}", "nested": [{f"key{EVIL}": f"inner{EVIL}"}]}
    calls = [
        {"id": "c", "function": {"name": f"book{EVIL}", "arguments": json.dumps(arguments)}},
        {"id": "d", "function": {"name": f"broken{EVIL}", "arguments": f"no object{EVIL}"}},
    ]
    messages = [
        {"role": "system", "content": f"system{EVIL}"},
        {"role": "user", "content": f"user{EVIL}"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": f"result{EVIL}"},
        {"role": "tool", "tool_call_id": "d", "content": f"Error: {EVIL}" + "long " * 100},
        {"role": "assistant", "content": f"It has been cancelled for $99.{EVIL}"},
    ]
    expected = [{"name": f"book{EVIL}", "arguments": {f"argument{EVIL}": f"gold{EVIL}"}}]
    return {"task": f"task{EVIL}", "trial": number, "messages": messages, "expected": expected, "reward": number}


def hostile(out: Path, *, evil: str = EVIL) -> str:
    """A run in which ids, services, slots, values, texts and the system's name would all do harm as markup."""
    gold, pred = _hostile_corpus(out.parent / f"{out.name}-data", evil)
    run("dst", gold, pred, "--match", "exact", "--out", str(out))
    rename(out, "pred", evil)
    return str(out)


def hostile_runs(folder: Path) -> list[str]:
    """The same of every kind of run: acts, responses, references, documents, histories, sources, twins, and the names
    of perturbations, wordings and folders."""
    gold, pred = _hostile_corpus(folder / "data", EVIL)
    twin, _ = _hostile_corpus(folder / "twin", EVIL, said="twin")
    answers, documents = folder / "pred.jsonl", folder / "pred-documents.jsonl"
    places = [(dialogue["dialogue_id"], turn) for dialogue in load(gold) for turn in (1, 3, 5)]
    rows: list[dict[str, object]] = [
        {"dialogue": dialogue, "turn": turn, "response": f"response{EVIL}" if turn < 5 else LOST}
        for dialogue, turn in places
    ]
    answers.write_text("\n".join(map(json.dumps, rows)))
    rows = [
        {
            "id": f"id{EVIL}{n}", "document": f"document{EVIL}{n}", "history": [f"history{EVIL}"],
            "response": f"response{EVIL}{n}", "label": n % 2, "source": f"source{EVIL}{n % 2}",
        }
        for n in range(6)
    ]  # fmt: skip
    documents.write_text("\n".join(map(json.dumps, rows)))
    fake = ("--nli", "fake", "--no-cache")
    commands = {
        "nlg": ("nlg", gold, f"pred={answers}", "--metrics", "ser,sgsacc", "--augment", "never", *fake),
        "ground": ("ground", f"pred={documents}", "--metrics", "nli", *fake),
    }
    outs = {name: folder / f"{name}{FOLDER}" for name in (*commands, "checkdst", "sgdx")}
    for name, command in commands.items():
        run(*command, "--out", str(outs[name]))
    # The command line would take a slash in a name for a path.
    checkdst((gold, pred), {NAME: (twin, twin)}, name="pred", out=outs["checkdst"])
    sgdx(gold, {NAME: pred, "v2": gold, "orig": gold}, name="pred", out=outs["sgdx"])
    made = [hostile(folder / f"dst{FOLDER}")]
    for name, out in outs.items():
        rename(out, "pred", f"{name}{EVIL}")
        made.append(str(out))
    return made


def _hostile_corpus(folder: Path, evil: str, *, said: str = "user") -> tuple[str, str]:
    """Two dialogues, and a tracker that gets their value wrong."""
    (folder / "gold").mkdir(parents=True)
    (folder / "pred").mkdir()
    service, slots = f"svc{evil}", [f"slot{evil}", "fine"]
    named = [{"name": name, "description": f"description{evil}"} for name in slots]
    schema = [{"service_name": service, "description": f"service{evil}", "slots": named, "intents": []}]
    (folder / "gold" / "schema.json").write_text(json.dumps(schema))
    acts = [
        {"act": "INFORM", "slot": slots[0], "values": [f"act value{evil}"], "canonical_values": [f"canonical{evil}"]},
        {"act": f"ACT{evil}", "slot": slots[0], "values": [f"act value{evil}"], "canonical_values": []},
    ]
    for side, value in (("gold", f"gold{evil}"), ("pred", f"pred{evil}")):
        turns = []
        for number in range(3):
            filled = {slots[0]: [value], "fine": ["yes"]} if number else {}
            state = {"active_intent": f"intent{evil}", "requested_slots": [], "slot_values": filled}
            text = "" if side == "pred" else f"{said}{evil}"  # so that they fit any wording
            turns.append({"speaker": "USER", "utterance": text, "frames": [{"service": service, "state": state}]})
            frame = {"service": service, "slots": [], "actions": acts}
            turns.append({"speaker": "SYSTEM", "utterance": f"system{evil}", "frames": [frame]})
        dialogues = [{"dialogue_id": f"id{evil}{i}", "services": [service], "turns": turns} for i in range(2)]
        write(folder / side, dialogues)
    return str(folder / "gold"), str(folder / "pred")


def reseal(run: str | Path) -> Path:
    """Writes the digests of a run again, so that a run whose files were changed on purpose can be read."""
    file = Path(run) / "run.json"
    digests = {name: sha256(Path(run) / name) for name in (stored.ROWS, explorer.NAME) if (Path(run) / name).is_file()}
    record = msgspec.structs.replace(decode_json(file.read_bytes(), stored.Run), sha256=digests)
    record = msgspec.structs.replace(record, seal=stored.compute_seal(encode_json(record)))
    file.write_bytes(msgspec.json.format(encode_json(record), indent=1) + b"\n")
    return Path(run)


def rename(out: Path, old: str, new: str) -> None:
    """The system under another name, in all of a run's files: the command line would take a slash for a path."""
    before, after = (json.dumps(name, ensure_ascii=False).encode() for name in (old, new))
    file = out / "run.json"
    text = file.read_bytes().replace(b'"system": ' + before, b'"system": ' + after)
    file.write_bytes(text.replace(before + b": {", after + b": {"))
    rows = pl.read_parquet(out / "rows.parquet")
    rows.with_columns(system=pl.lit(new)).write_parquet(out / "rows.parquet")
    dialogues = out / explorer.NAME
    lines = gzip.decompress(dialogues.read_bytes()).replace(b'"system":' + before, b'"system":' + after)
    dialogues.write_bytes(gzip.compress(lines))
    reseal(out)


def load(folder: str) -> Any:
    return json.loads((Path(folder) / "dialogues_001.json").read_bytes())


def write(folder: Path, dialogues: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dialogues_001.json").write_text(json.dumps(dialogues))


def page(out: Path, *runs: str) -> Path:
    run("report", *runs, "--out", str(out))
    return out


def sources(*runs: str) -> list[Source]:
    return open_runs(runs)


def system(source: Source, name: str) -> ScoredSystem:
    """A system of a run, by its name in the run."""
    return next(one for one in source.systems if one.system == name)


def result(name: str, metric: Metric, right: int) -> Result:
    """A system with so many dialogues of 200 that count."""
    score = Score(
        name, metric.name, ALL, right / 200, None, None, 200, {}, scale=metric.scale,
        better=metric.better,
    )  # fmt: skip
    rows = pl.DataFrame(
        {"system": name, "metric": metric.name, "dialogue": [str(i) for i in range(200)],
         "num": [float(i < right) for i in range(200)], "den": 1.0}
    )  # fmt: skip
    return Result("nlg", [score], [metric], make_rows=lambda: rows)
