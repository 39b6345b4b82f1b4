"""SGSAcc, table 1: template copy, fine-tuning, prefix-tuning, and both with the reranker, on few-shot splits of SGD.

    python -m experiments.sgsacc_table1

Claims of the paper (section 4, table 1): prefix-tuning is more faithful than fine-tuning in unseen domains, and the
ensemble beats both. The paper trains T5-small on all of SGD at 1e-4, and its ensemble chooses between two responses;
here it is SmolLM2-135M, or with `--model` the T5 small of `experiments.t5`, on T2G2's 5 and 20 dialogues per domain,
prefixes at 1e-3 and at 1e-4, and both the ensemble of two responses and that of all beams. A domain is unseen if no
service of it is in the training schema.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

import troth
from experiments.common import arguments, cell, dots, publish, sgd, table
from troth import models, readers
from troth.core import groups
from troth.core.score import Score
from troth.readers.shots import draw
from troth.responses.nbest import rerank_file
from troth.responses.templates import respond as copy_templates
from troth.systems.generators.card import Method

METHODS: dict[str, tuple[Method, float]] = {"FT": ("ft", 1e-4), "PT": ("pt", 1e-3), "PT, 1e-4": ("pt", 1e-4)}
ENSEMBLES = {"PT+FT": 0, "PT+FT, 2 candidates": 1}  # candidates of each system; 0: all beams
SYSTEMS = ("template copy", *METHODS, *ENSEMBLES)
COLUMNS = [("bleu", "all"), *((metric, part) for metric in ("ser", "sgsacc_validated", "sgsacc")
                              for part in ("all", "seen", "unseen"))]  # fmt: skip
SHOWN = {"sgsacc_validated": "SGSAcc", "ser": "SER (lower is better)"}  # in the chart


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--shots", default="5,20", help="T2G2's splits: dialogues per domain")
    parser.add_argument(
        "--dialogues", type=int, default=50, help="number of test dialogues with seen domains, and with unseen ones"
    )
    parser.add_argument("--epochs", type=float, default=3, help="of 5 shots; other splits have as many steps")
    parser.add_argument("--steps", type=int, default=0, help="of each training, in place of epochs")
    parser.add_argument("--beams", type=int, default=4)
    parser.add_argument("--model", default="embedded", help="to begin with")
    options = parser.parse_args()
    data, t2g2 = options.shared / "data/sgd", options.shared / "data/t2g2"
    train, work = sgd(options.shared, options.work), options.work / "sgsacc_table1"
    work.mkdir(parents=True, exist_ok=True)
    test = test_set(data, work, options.dialogues)
    rows: list[list[str]] = []
    points: dict[tuple[str, str, str], Score | None] = {}
    for shots in options.shots.split(","):
        folder = work / f"{shots}-shot"
        how: dict[str, Any] = {"model": options.model, "templates": t2g2 / "utterance_templates", "dev": data / "dev",
                               "shots": str(t2g2 / f"fewshot_splits/{shots}_shot.txt")}  # fmt: skip
        fit: dict[str, Any] = {
            "epochs": options.epochs * 5 / int(shots),
            "steps": options.steps,
            "save_every": 50,
            "bfloat16": True,
        }
        for name, (method, rate) in METHODS.items():
            troth.train_response(train, folder / slug(name), method=method, fit={**fit, "rate": rate}, **how)
        scores = scored(folder, test, options, data)
        for name in SYSTEMS:
            cells = [cell(scores.get((name, *key))) for key in COLUMNS]
            rows.append([shots, name, *cells])
            points |= {(f"{title}, {part}", name, f"{shots} shots"): scores.get((name, metric, part))
                       for metric, title in SHOWN.items() for part in ("seen", "unseen")}  # fmt: skip
        head = ["shots", "system", *(f"{metric}, {part}" for metric, part in COLUMNS)]
        publish(options.work, "sgsacc_table1", table(head, rows))
    dots(options.work / "sgsacc_table1.svg", "Faithfulness in seen and unseen domains", points)


def test_set(data: Path, work: Path, count: int) -> Path:
    """Test dialogues: the same number with seen domains only and with an unseen one."""
    known = seen_domains(data)
    parts: dict[bool, list[Any]] = {True: [], False: []}
    for one in readers.gold(str(data / "test")):
        parts[{groups.domain(service) for service in one.services} <= known].append(one)
    path = work / f"test-{count}"
    if not path.exists():
        some = [one for mine in parts.values() for one in draw(mine, count)]
        readers.write(some, str(path), "sgd", schema=(data / "test/schema.json").read_bytes())
    return path


def seen_domains(data: Path) -> set[str]:
    return {groups.domain(name) for name in readers.schema(str(data / "train/schema.json"))}


def scored(folder: Path, test: Path, options: Any, data: Path) -> dict[tuple[str, str, str], Score]:
    """All systems on a test set, by system, metric and group; existing responses are not generated again."""
    files = {name: folder / f"{test.name}-{slug(name)}.jsonl" for name in SYSTEMS}
    if not files["template copy"].exists():
        copy_templates(test, options.shared / "data/t2g2/utterance_templates", files["template copy"])
    for name in METHODS:
        if not files[name].exists():
            troth.respond([folder / slug(name)], test, files[name], beams=options.beams)
    for name, count in ENSEMBLES.items():
        if not files[name].exists():
            rerank_file(test, [likeliest(files[one], count) for one in ("PT", "FT")], files[name], models.nli())
    run, known = folder / f"{test.name}-run", seen_domains(data)
    if not run.exists():
        schema = readers.schema(str(test))
        seen = {name: service for name, service in schema.items() if groups.domain(name) in known}
        named = [f"{name}={path}" for name, path in files.items()]
        troth.nlg(test, *named, metrics="ser,sgsacc,bleu", missing="zero", by="seen", train_schema=seen, out=run)
        troth.report(run, out=folder / f"{test.name}.html")
    return {(one.system, one.metric, one.group): one for one in troth.open(run).scores}


def slug(name: str) -> str:
    return name.replace(",", "").replace(" ", "-").lower()


def likeliest(file: Path, count: int) -> Path:
    """The file with the first candidates of each list alone; the file itself for 0."""
    if not count:
        return file
    out = file.with_suffix(f".{count}best.jsonl")
    rows = [msgspec.json.decode(line) for line in file.read_bytes().splitlines()]
    short = [row | {"candidates": row["candidates"][:count]} for row in rows]
    out.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in short))
    return out


if __name__ == "__main__":
    main()
