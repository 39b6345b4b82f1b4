"""Builds the training mixture of both entailment models: one file of pairs, grouped by source.

    python -m training.nli.mixture --shared DIR --acts pairs.jsonl --claims claims.jsonl --out mixture.jsonl

`acts` is the output of `training.nli.data` (SGD's acts, made-up booleans), `claims` that of `training.nli.claims`
(documents with claims by people and by rules). This module adds the licensed NLI pairs, hallucinated answers,
paraphrases, and degenerate premises (empty, nonsense, generic, unrelated), which are neutral to any hypothesis.
MNLI dev, SNLI dev and every set that is used to choose or evaluate are not read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from training.nli.chat import chat_pairs
from training.nli.claims import corrupted
from training.nli.data import Pair, write_pairs
from training.nli.documents import UNSUPPORTED
from training.nli.statements import statement
from troth.text.sentences import split_sentences

MAX_WORDS = 130  # of a premise
GENERIC = (
    "Okay.", "Sure.", "Sure, no problem.", "Thank you!", "I'm sorry, I don't understand.", "Hello, how can I help?",
    "Let me check that for you.", "Yes.", "No.", "Alright.", "Is there anything else?", "One moment, please.", "OK",
    "Great!", "I see.", "Please wait.", "Hm.", "Done.", "Of course.", "You're welcome.", "I can help you with that.",
)  # fmt: skip


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def nli_pairs(data: Path) -> Iterator[Pair]:
    """The licensed NLI pairs; a label that only says "not entailed" becomes `unsupported`."""
    for row in read_rows(data / "nli/train_pairs.jsonl.gz"):
        label = UNSUPPORTED if row["label"] == "not_entailment" else row["label"]
        yield Pair(row["premise"], row["hypothesis"], label, row["source"].split("_")[0])


def relevant_sentences(document: str, response: str, max_words: int = MAX_WORDS) -> str:
    """The sentences of the document that share most words with the response, in document order."""
    parts = split_sentences(document)
    if sum(len(part.split()) for part in parts) <= max_words:
        return " ".join(parts)
    response_words = _content_words(response)
    overlap = [len(_content_words(part) & response_words) / (8 + len(part.split())) for part in parts]
    selected: set[int] = set()
    words = 0
    for i in sorted(range(len(parts)), key=lambda i: -overlap[i]):
        if words + len(parts[i].split()) <= max_words:
            selected.add(i)
            words += len(parts[i].split())
    return " ".join(parts[i] for i in sorted(selected))


def _content_words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 3 or word.isdigit()}


def grounded_responses(data: Path, rng: random.Random) -> Iterator[Pair]:
    """HaluEval and convfactual. Right answers of HaluEval QA are a few words and wrong ones are sentences, so right
    ones are turned into statements: length must not tell them apart."""
    for row in read_rows(data / "halueval/dialogue_train.jsonl.gz"):
        document = re.sub(r"`~?([^`]*)`", r"\1", row["document"])
        yield Pair(document, row["response"], "entailment" if row["label"] else UNSUPPORTED, "halueval-dialogue")
    for row in read_rows(data / "halueval/qa_train.jsonl.gz"):
        question, answer = row["history"][-1], row["response"]
        if not row["label"]:
            yield Pair(row["document"], answer, UNSUPPORTED, "halueval-qa")
        elif said := statement(question, answer, row["document"]):
            yield Pair(row["document"], said, "entailment", "halueval-qa")
        elif answer.lower().rstrip(".") not in ("yes", "no") and rng.random() < 0.5:
            yield Pair(row["document"], f"{question} {answer}", "entailment", "halueval-qa")
    for row in read_rows(data / "halueval/summary_train.jsonl.gz"):
        label = "entailment" if row["label"] else UNSUPPORTED
        premise = relevant_sentences(row["document"], row["response"])
        if row["label"]:  # one sentence of a supported summary is supported too
            parts = [part for part in split_sentences(row["response"]) if len(part.split()) > 5]
            if parts and rng.random() < 0.6:
                claim = rng.choice(parts)
                yield Pair(relevant_sentences(row["document"], claim, 90), claim, label, "halueval-summary")
                continue
        yield Pair(premise, row["response"], label, "halueval-summary")
    for row in read_rows(data / "grounding_dev/convfactual_train.jsonl.gz"):
        label = "entailment" if row["label"] else UNSUPPORTED
        for _ in range(1 if row["label"] else 4):  # supported responses are seven times as frequent
            yield Pair(relevant_sentences(row["document"], row["response"]), row["response"], label, "convfactual")


def paraphrases(data: Path, rng: random.Random) -> Iterator[Pair]:
    """PAWS, data-to-text, split sentences; questions with answers as statements; corrupted paraphrases."""
    for row in read_rows(data / "positives/paws_ni_train.jsonl.gz"):
        texts = [_detokenize(row["premise"]), _detokenize(row["hypothesis"])]
        rng.shuffle(texts)
        yield Pair(texts[0], texts[1], "entailment" if row["label"] == "paraphrase" else UNSUPPORTED, "paws")
    for row in read_rows(data / "positives/dart_e2e_ni.jsonl.gz"):
        label = UNSUPPORTED if row["label"] == "not_paraphrase" else "entailment"
        yield Pair(row["premise"], row["hypothesis"], label, "data-to-text")
        if label == "entailment" and rng.random() < 0.5:
            yield from _wrong_only(row["premise"], row["hypothesis"], rng, "data-to-text")
    for row in read_rows(data / "positives/wikisplit_tunevaltest.jsonl.gz"):
        whole, parts = _detokenize(row["premise"]), _detokenize(row["hypothesis"])
        yield Pair(whole, rng.choice([parts, *split_sentences(parts)]), "entailment", "wikisplit")
        yield from _wrong_only(whole, parts, rng, "wikisplit")
    for name in ("answerability_ni", "multirc_olora_train"):
        for row in read_rows(data / f"positives/{name}.jsonl.gz"):
            if row["label"] in ("supported", "not_supported"):
                premise = relevant_sentences(row["premise"], f"{row['question']} {row['hypothesis']}")
                said = statement(row["question"], row["hypothesis"], row["premise"])
                text = said or f"{row['question']} {row['hypothesis']}"
                yield Pair(premise, text, "entailment" if row["label"] == "supported" else UNSUPPORTED, "answers")
    for row in read_rows(data / "positives/boolq_olora_train.jsonl.gz"):
        premise = relevant_sentences(row["premise"], row["hypothesis"])
        question = row["hypothesis"][:1].upper() + row["hypothesis"][1:].rstrip("?") + "?"
        answer = rng.choice(("yes", "no"))
        label = "entailment" if answer == row["label"] else "contradiction"
        yield Pair(premise, f"{question} {answer.capitalize()}.", label, "boolq")


def _wrong_only(premise: str, claim: str, rng: random.Random, source: str) -> Iterator[Pair]:
    for pair in corrupted(premise, claim, rng, at_most=1, opening=False):
        if pair.label != "entailment":
            yield pair._replace(source=source)


def _detokenize(text: str) -> str:
    text = re.sub(r"\s+([,.;:!?%)\]]|'s\b|n't\b)", r"\1", text.replace("``", '"').replace("''", '"'))
    return re.sub(r"\s+", " ", re.sub(r"([(\[])\s+", r"\1", text)).strip()


def nonsense(rng: random.Random) -> str:
    """A text that says nothing: random letters, punctuation, a repeated syllable, or nothing at all."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randint(2, 8))) for _ in range(rng.randint(1, 6))]
    kinds = ("", " ".join(words), rng.choice(("...", "?", "!!", "-", "N/A", "null", "…")), f"{rng.choice(words)} " * 4,
             "lorem ipsum dolor sit amet", " ".join(words).capitalize() + ".")  # fmt: skip
    return rng.choice(kinds).strip()


def degenerate(pairs: Sequence[Pair], rng: random.Random, count: int) -> Iterator[Pair]:
    """Any hypothesis with a premise that says nothing about it, and a nonsense hypothesis with any premise."""
    for pair in rng.choices(pairs, k=count):
        draw = rng.random()
        if draw < 0.35:
            yield Pair(nonsense(rng), pair.hypothesis, "neutral", "degenerate")
        elif draw < 0.6:
            yield Pair(rng.choice(GENERIC), pair.hypothesis, "neutral", "degenerate")
        elif draw < 0.85:
            yield Pair(rng.choice(pairs).premise, pair.hypothesis, "neutral", "degenerate")
        else:
            yield Pair(pair.premise, nonsense(rng) or "qwer", "neutral", "degenerate")


def empty_answers(acts: Sequence[Pair], rng: random.Random, count: int) -> Iterator[Pair]:
    """SGSAcc's augmented premise (previous turn, slot description, response) with a response that says nothing."""
    longer = [pair for pair in acts if len(split_sentences(pair.premise)) > 2]
    for pair in rng.choices(longer, k=count):
        parts = split_sentences(pair.premise)
        context = " ".join(parts[: rng.choice((1, 2))])
        answer = rng.choice(GENERIC) if rng.random() < 0.5 else nonsense(rng)
        if not _content_words(pair.hypothesis) & _content_words(context):
            yield Pair(f"{context} {answer}".strip(), pair.hypothesis, "neutral", "degenerate")


def stored(path: Path) -> Iterator[Pair]:
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["from"] not in ("mnli", "snli"):
            yield Pair(row["premise"], row["hypothesis"], row["label"], row["from"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="the folder with data/nli, data/halueval, …")
    parser.add_argument("--acts", type=Path, required=True, help="output of training.nli.data")
    parser.add_argument("--claims", type=Path, required=True, help="output of training.nli.claims")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, data = random.Random(options.seed), options.shared / "data"
    acts = list(stored(options.acts))
    claims = list(stored(options.claims))
    pairs = [*acts, *claims, *nli_pairs(data), *grounded_responses(data, rng), *paraphrases(data, rng)]
    pairs += chat_pairs(claims, rng, 16000)
    pairs += [*degenerate(pairs, rng, 12000), *empty_answers(acts, rng, 6000)]
    write_pairs(pairs, options.out)
    counts = Counter((pair.source.split(":")[0], pair.label) for pair in pairs)
    for (source, label), count in sorted(counts.items()):
        print(source, label, count)


if __name__ == "__main__":
    main()
