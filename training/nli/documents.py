"""Documents with claims about them, for the second stage: FEVER, FM2, WiCE, SQuAD, and what is kept apart of each.

FM2's pages and SQuAD's articles are divided by a checksum of their titles, so that what is evaluated was never trained
on: half of FM2's pages, a fifth of SQuAD's articles, and every claim of FEVER whose evidence names a page of FM2's
other half. WiCE's dev files, BEGIN, FaithDial's audit, COVID-Fact and Climate-FEVER are not read here.
"""

from __future__ import annotations

import gzip
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

UNSUPPORTED = "unsupported"  # neutral or contradiction: the data does not say which
FEVER_LABELS = {"SUPPORTS": "entailment", "REFUTES": "contradiction"}
_TOKENS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"', "--": "–", "-COLON-": ":"}
_TOKEN = re.compile("|".join(map(re.escape, sorted(_TOKENS, key=len, reverse=True))))


class Claim(NamedTuple):
    """A claim with the sentences it is judged by; `page`: what it was kept apart by."""

    text: str
    evidence: tuple[str, ...]
    label: str
    page: str = ""


class Article(NamedTuple):
    """A paragraph of SQuAD with its questions as (question, answer, whether the paragraph answers it)."""

    title: str
    text: str
    questions: tuple[tuple[str, str, bool], ...]


def is_kept_apart(title: str, share: int) -> bool:
    """Whether a page is for evaluation only: one of `share`."""
    return crc32(title.encode()) % share == 1


def detokenised(text: str) -> str:
    """Tokenised text of Wikipedia as people write it."""
    text = _TOKEN.sub(lambda match: _TOKENS[match[0]], text)
    text = re.sub(r"\s+([,.;:!?%)\]]|'s\b|n't\b|'(?=\s|$))", r"\1", text)
    text = re.sub(r"([(\[])\s+", r"\1", text)
    text = re.sub(r'"\s*([^"]*?)\s*"', r'"\1"', text)
    return re.sub(r"[(\[][^()\[\]]{0,3}[)\]]\s?", "", " ".join(text.split()))  # what is left of a transcription


def fever(data: Path) -> Iterator[Claim]:
    with gzip.open(data / "factcheck/fever_dev.jsonl.gz", "rt", encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            parts = re.split(r"(?<= \.) (?=[A-Z`\"(])", row["evidence"])
            yield Claim(row["claim"], tuple(map(detokenised, parts)), FEVER_LABELS[row["label"]])


def fm2(data: Path, *, kept_apart: bool) -> Iterator[Claim]:
    for line in (data / "factcheck/fm2_dev.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if is_kept_apart(row["page"], 2) == kept_apart:
            yield Claim(row["claim"], tuple(row["evidence"]), FEVER_LABELS[row["label"]], row["page"])


def fever_apart_from(data: Path, claims: list[Claim]) -> list[Claim]:
    """FEVER without the claims whose evidence names a page of these claims."""
    names = {re.sub(r"\s*\(.*\)$", "", claim.page) for claim in claims}
    named = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in sorted(names) if len(name) > 3))
    return [claim for claim in fever(data) if not named.search(" ".join((claim.text, *claim.evidence)))]


def wice(data: Path) -> Iterator[tuple[Claim, Claim | None, list[str]]]:
    """Partly supported claims with the sentences that support them in part, without the rest, and their documents."""
    for line in (data / "wice/tokens_train.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        document = [part for part in row["evidence"] if not part.startswith(("(meta data)", "#")) and " " in part]
        groups = [tuple(row["evidence"][i] for i in sorted(group)) for group in row["supporting_sentences"] if group]
        if not groups:
            continue
        whole = Claim(row["claim"], groups[0], UNSUPPORTED, row["meta"]["claim_title"])
        spans = row["non_supported_spans"]
        first = spans.index(True) if True in spans else len(spans)
        rest = None
        if first >= 4 and all(spans[first:-1]):  # the unsupported words are the end: what stands before is supported
            words = detokenised(" ".join(row["claim_tokens"][:first])).rstrip(" ,;–-")
            if words.rsplit(" ", 1)[-1] not in ("and", "in", "of", "the", "a", "by", "to", "for", "with", "as", "was"):
                rest = Claim(f"{words}.", groups[0], "entailment", whole.page)
        yield whole, rest, document


def squad(data: Path, *, kept_apart: bool) -> Iterator[Article]:
    dataset = json.loads((data / "prefinetune/squad_dev_v2.0.json").read_text(encoding="utf-8"))
    for article in dataset["data"]:
        if is_kept_apart(article["title"], 5) != kept_apart:
            continue
        for paragraph in article["paragraphs"]:
            questions = []
            for row in paragraph["qas"]:
                answers = row["answers"] or row.get("plausible_answers", ())
                if answers:
                    shortest = min((answer["text"] for answer in answers), key=len)
                    questions.append((row["question"], shortest, not row["is_impossible"]))
            yield Article(article["title"], paragraph["context"], tuple(questions))


def breaking(data: Path) -> Iterator[tuple[Claim, bool]]:
    """Pairs that differ in one word, and whether they are kept apart: half of the premises are."""
    with zipfile.ZipFile(data / "nli/breaking_nli.zip") as archive:
        for line in archive.read("data/dataset.jsonl").decode().splitlines():
            row = json.loads(line)
            claim = Claim(row["sentence2"], (row["sentence1"],), row["gold_label"])
            yield claim, is_kept_apart(row["sentence1"], 2)
