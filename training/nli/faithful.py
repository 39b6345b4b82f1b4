"""What the embedded model can do with documents: labelled sets, corruptions, summaries. More figures of its card.

    python -m training.nli.faithful --shared DIR --out figures.json [--model DIR] [--each 300] [--sets fm2 wice]

Every value is that of `nli` in `troth ground`: the best window of the document, the response's worst sentence. Nothing
here was trained on: FM2's and SQuAD's parts that were kept apart, WiCE's dev claims, BEGIN's dev sets, FaithDial's
audit, COVID-Fact, Climate-FEVER, VitaminC, attribution, QA feedback, SummEdits, HaluEval's dev sets. BEGIN's test set
is not read. `--model` is a folder of an embedded model, or any name that `--nli` takes.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from training.nli.claims import shortened
from training.nli.data import KEPT_OUT
from training.nli.documents import breaking, fm2, squad
from training.nli.evaluate import accuracy
from training.nli.statements import statement
from troth.core.records import Grounded
from troth.grounding.entailment import EVIDENCE, SentenceEntailment
from troth.grounding.metrics import Value
from troth.models.backends import uncached_nli
from troth.models.cached import CachedNli
from troth.models.embedded import FOLDER, EmbeddedNli
from troth.perturb.answers import KINDS, corruptions
from troth.readers import grounded
from troth.stats.correlation import auroc
from troth.storage.cache import Store
from troth.text.sentences import split_sentences

BEGIN = {"wow": "wow/begin_dev_wow", "cmu": "cmu-dog/begin_dev_cmu", "topical": "topicalchat/begin_dev_tc"}


def rows(path: Path) -> Iterator[dict[str, Any]]:
    data = path.read_bytes()
    yield from map(json.loads, (gzip.decompress(data) if path.suffix == ".gz" else data).splitlines())


def judged(path: Path, supported: str) -> list[Grounded]:
    """Claims with their evidence: 1 for the supported ones."""
    return [
        Grounded(f"{path.stem}-{i}", _text(row["evidence"]), row["claim"], (), int(row["label"] == supported))
        for i, row in enumerate(rows(path))
    ]


def _text(evidence: str | Sequence[str]) -> str:
    return evidence if isinstance(evidence, str) else "\n\n".join(evidence)


def labelled(data: Path) -> dict[str, Callable[[], list[Grounded]]]:
    """The labelled sets by name."""

    def read(path: Path) -> list[Grounded]:
        return [item for item in grounded.read(str(path)) if item.label is not None]

    def apart() -> list[Grounded]:
        claims = list(fm2(data, kept_apart=True))
        return [
            Grounded(f"fm2-{i}", _text(claim.evidence), claim.text, (), int(claim.label == "entailment"))
            for i, claim in enumerate(claims)
        ]

    sets: dict[str, Callable[[], list[Grounded]]] = {
        "fm2-apart": apart,
        "fm2": lambda: judged(data / "factcheck/fm2_dev.jsonl", "SUPPORTS"),
        "wice": lambda: judged(data / "wice/claims_dev.jsonl", "supported"),
        "covidfact": lambda: judged(data / "factcheck/covidfact.jsonl.gz", "SUPPORTED"),
        "climate": lambda: judged(data / "factcheck/climate_fever.jsonl.gz", "SUPPORTS"),
        "audit": lambda: [one for path in sorted((data / "faithdial_audit").glob("*.csv")) for one in read(path)],
    }
    for name in ("vitaminc", "attribution", "qa_feedback", "summedits"):
        sets[name] = lambda name=name: read(data / f"grounding_dev/{name}_dev.jsonl.gz")  # type: ignore[misc]
    for name in ("dialogue", "qa", "summary"):
        sets[f"halueval-{name}"] = lambda name=name: read(data / f"halueval/{name}_dev.jsonl.gz")  # type: ignore[misc]
    for name, path in BEGIN.items():
        sets[f"begin-{name}"] = lambda path=path: read(data / f"begin/{path}.tsv")  # type: ignore[misc]
    return sets


def summaries(data: Path, rng: random.Random) -> list[Grounded]:
    """Summaries of two to four sentences of paragraphs that were kept apart: answers as statements, short sentences."""
    made: list[Grounded] = []
    for article in squad(data, kept_apart=True):
        told = [statement(question, answer, article.text) for question, answer, right in article.questions if right]
        short = [shortened(one, rng) for one in split_sentences(article.text)]
        parts = list(dict.fromkeys(one for one in (*told, *short) if one and 5 <= len(one.split()) <= 30))
        if len(parts) > 1:
            text = " ".join(rng.sample(parts, min(len(parts), rng.choice((2, 3, 4)))))
            made.append(Grounded(f"{article.title}-{len(made)}", article.text, text, (), 1))
    return made


def corrupted(items: Sequence[Grounded], each: int, rng: random.Random) -> dict[str, list[Grounded]]:
    """By kind: supported responses, each followed by its corruption (label 0)."""
    made: dict[str, list[Grounded]] = {kind: [] for kind in KINDS}
    for item in rng.sample(list(items), len(items)):
        if all(len(found) >= 2 * each for found in made.values()):
            break
        for one in corruptions(item.document, item.response, seed=1, id=item.id):
            if len(made[one.kind]) < 2 * each:
                made[one.kind] += [item, Grounded(f"{item.id}#{one.kind}", item.document, one.text, (), 0)]
    return made


def area(values: Sequence[Value], items: Sequence[Grounded]) -> float:
    known = [(value, item.label or 0) for value, item in zip(values, items, strict=True) if isinstance(value, float)]
    return auroc([value for value, _ in known], [label for _, label in known]) or 0.0


def paired(values: Sequence[Value]) -> float:
    """Share of pairs in which the second, corrupted one scores lower."""
    pairs = zip(values[::2], values[1::2], strict=True)
    lower = [wrong < right for right, wrong in pairs if isinstance(right, float) and isinstance(wrong, float)]
    return sum(lower) / len(lower) if lower else 0.0


def drawn(items: Sequence[Grounded], number: int, name: str) -> list[Grounded]:
    return random.Random(f"15 {name}").sample(list(items), min(number, len(items)))


def figures(nli: Any, data: Path, each: int, wanted: Sequence[str]) -> Iterator[tuple[str, dict[str, float]]]:
    metric, known = SentenceEntailment(nli, evidence=EVIDENCE), labelled(data)
    for name, make in known.items():
        if name in wanted:
            items = drawn(make(), each, name)
            values = metric.score(items)
            yield name, {"n": len(items), "auroc": area(values, items)}
    for name in ("mnli", "snli"):
        if name in wanted:
            lines = (data / f"nli/{name}_dev.jsonl").read_text(encoding="utf-8").splitlines()[-KEPT_OUT:][: 3 * each]
            yield name, {"n": len(lines), "accuracy": accuracy(nli, lines)}
    if "anli" in wanted:
        pairs = [json.dumps(row) for row in rows(data / "nli/dev_pairs.jsonl.gz") if row["source"] == "anli_r1_dev"]
        yield "anli", {"n": len(pairs[: 3 * each]), "accuracy": accuracy(nli, pairs[: 3 * each])}
    if "breaking" in wanted:
        claims = [claim for claim, kept_apart in breaking(data) if kept_apart]
        told = [
            json.dumps({"premise": claim.evidence[0], "hypothesis": claim.text, "label": claim.label})
            for claim in random.Random(15).sample(claims, min(2 * each, len(claims)))
        ]
        yield "breaking", {"n": len(told), "accuracy": accuracy(nli, told)}
    if "corruptions" in wanted:
        sources = [name for name in known if name != "fm2" and not name.startswith(("covid", "climate"))]
        supported = [one for name in sources for one in known[name]() if one.label and len(one.document) < 3000]
        singles = [
            Grounded(f"squad-{i}-{j}", article.text, said, (), 1)
            for i, article in enumerate(squad(data, kept_apart=True))
            for j, (question, answer, right) in enumerate(article.questions)
            if right and (said := statement(question, answer, article.text))
        ]
        for kind, items in corrupted([*supported, *singles], each // 3, random.Random(15)).items():
            values = metric.score(items)
            yield f"corrupted {kind}", {"n": len(items) // 2, "auroc": area(values, items), "paired": paired(values)}
    if "summaries" in wanted:
        made = corrupted(summaries(data, random.Random(15)), each // 5, random.Random(16))
        items = [item for found in made.values() for item in found]
        values = metric.score(items)
        yield "summaries", {"n": len(items) // 2, "auroc": area(values, items), "paired": paired(values)}


def open_nli(name: str, cache: str | None) -> CachedNli:
    """The model in a folder that `export` wrote, or any that `--nli` takes."""
    own = (Path(name) / "model.onnx").is_file()
    return CachedNli(EmbeddedNli(Path(name)) if own else uncached_nli(name), Store.at(cache))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True)
    parser.add_argument("--model", default=str(FOLDER))
    parser.add_argument("--each", type=int, default=300, help="responses of a set; pairs of corruptions are a third")
    every = ["vitaminc", "attribution", "qa_feedback", "summedits", "halueval-dialogue", "halueval-qa", "fm2-apart",
             "wice", "begin-wow", "begin-cmu", "begin-topical", "audit", "covidfact", "climate", "mnli", "anli", "snli",
             "breaking", "corruptions", "summaries"]  # fmt: skip
    parser.add_argument("--sets", nargs="*", default=every)
    parser.add_argument("--cache", help="a file of answers: stopped, the same command goes on")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    nli = open_nli(options.model, options.cache)
    found, began = {}, time.monotonic()
    for name, told in figures(nli, options.shared / "data", options.each, options.sets):
        found[name] = told
        shown = " ".join(f"{key} {value:.3f}" if key != "n" else f"n {value}" for key, value in told.items())
        print(f"{name}: {shown} ({time.monotonic() - began:.0f} s)", flush=True)
        options.out.write_text(json.dumps({"model": nli.name, "figures": found}, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
