"""Pairs of documents of several sentences with claims that differ from them in few words.

    python -m training.nli.claims --shared DIR --out claims.jsonl

Claims come from people (FEVER, FM2, WiCE, questions of SQuAD as statements) and from rules: sentences of the documents,
shortened, fused, with a fact, a role, a negation changed (`troth.perturb.answers`), in the claim or in the document.
Everything follows from the seed.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from training.nli.bindings import bindings
from training.nli.data import Pair, write_pairs
from training.nli.documents import UNSUPPORTED, Article, Claim, breaking, fever_apart_from, fm2, squad, wice
from training.nli.statements import statement
from troth.perturb.answers import corruptions
from troth.text.facts import Fact, agree, find_facts
from troth.text.proper_names import find_names
from troth.text.sentences import split_sentences

LONGEST = 80  # words of a premise
KINDS = ("name", "number", "date", "unit", "new_number", "roles", "negation", "quantifier", "relation", "addition",
         "condition")  # fmt: skip
LABELS = dict.fromkeys(("number", "date", "new_number", "negation", "relation"), "contradiction") | {
    "addition": "neutral"
}
OPENINGS = ("Yes, ", "Well, ", "Actually, ", "I know that ", "Sure. ", "It says that ", "I read that ", "Oh, ")

_BRACKETS = re.compile(r" \([^()]*\)")
_RELATIVE = re.compile(r", (?:which|who|where|whose|including|such as|also known as)\b[^,.;]*(?:,(?= [a-z])|(?=\.$))")
_SETTING = re.compile(r"(?:In|On|During|By|After|Since|At|From) [^,]{3,40}, (?=\w)")
_LAST_CLAUSE = re.compile(r", (?:and|but|while|although|where|with) [^.;]*(?=\.$)|; [^.]*(?=\.$)")


# -- changes that keep a claim supported -------------------------------------------------------------------------------


def shortened(text: str, rng: random.Random) -> str | None:
    """A sentence without one of the parts that it can do without; None where it has none."""
    parts = [*_BRACKETS.finditer(text), *_RELATIVE.finditer(text)]
    ways = [text[: match.start()] + text[match.end() :] for match in parts]
    if match := _SETTING.match(text):
        ways.append(text[match.end() :][:1].upper() + text[match.end() + 1 :])
    ways += [text[: match.start()] + text[match.end() :] for match in _LAST_CLAUSE.finditer(text)]
    ways = [way for way in ways if len(way.split()) >= 5]
    return rng.choice(ways) if ways else None


def fused(first: str, second: str) -> str:
    """Two sentences as one."""
    opens = second.split(" ", 1)[0]
    lower = opens in ("The", "It", "He", "She", "They", "This", "In", "A", "An", "There", "These", "His", "Her", "Its")
    return f"{first.rstrip(' .')}, and {second[0].lower() if lower else second[0]}{second[1:]}"


def window(parts: Sequence[str], at: int, rng: random.Random) -> str:
    """Up to five sentences with the one at `at` among them."""
    before, after = rng.choice(((0, 0), (1, 0), (0, 1), (1, 1), (2, 1), (1, 2), (2, 2), (0, 2), (2, 0)))
    first, last = max(0, at - before), min(len(parts), at + after + 1)
    while sum(len(part.split()) for part in parts[first:last]) > LONGEST and last - first > 1:
        if at - first > last - 1 - at:
            first += 1
        else:
            last -= 1
    return " ".join(parts[first:last])


def premise_of(evidence: Sequence[str]) -> str:
    """Evidence up to the longest that is trained on."""
    text: list[str] = []
    held = 0
    for part in evidence:
        held += len(part.split())
        if text and held > LONGEST:
            break
        text.append(part)
    return " ".join(text)


# -- claims by people --------------------------------------------------------------------------------------------------


def judged(claims: Iterable[Claim], source: str) -> Iterator[Pair]:
    for claim in claims:
        yield Pair(premise_of(claim.evidence), claim.text, claim.label, source)


def elsewhere(claims: Sequence[Claim], rng: random.Random, count: int) -> Iterator[Pair]:
    """Claims with evidence of another claim that begins with the same word, and shares no sentence with theirs."""
    own: dict[str, set[str]] = defaultdict(set)
    by_word: dict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        own[claim.text].update(claim.evidence)
        by_word[" ".join(claim.text.split()[:2])].append(claim)
    for claim in rng.sample(list(claims), len(claims)):
        other = rng.choice(by_word[" ".join(claim.text.split()[:2])])
        if own[claim.text].isdisjoint(other.evidence):
            yield Pair(premise_of(other.evidence), claim.text, "neutral", "elsewhere")
            count -= 1
        if not count:
            return


def answers(articles: Iterable[Article], rng: random.Random) -> Iterator[Pair]:
    """Questions of SQuAD with the right answer, another answer of the paragraph, or an answer where there is none."""
    for article in articles:
        parts = split_sentences(article.text)
        for question, answer, answered in article.questions:
            at = next((i for i, part in enumerate(parts) if answer in part), None)
            if at is None or (said := statement(question, answer, article.text)) is None:
                continue
            premise = window(parts, at, rng)
            yield Pair(premise, said, "entailment" if answered else UNSUPPORTED, "squad")
            others = [
                other for _, other, _ in article.questions
                if _shape(other) == _shape(answer) and other in premise and other not in answer and answer not in other
            ]  # fmt: skip
            if answered and others and (wrong := statement(question, rng.choice(others), article.text)):
                yield Pair(premise, wrong, UNSUPPORTED, "squad")


def _shape(answer: str) -> str:
    facts = find_facts(answer)
    return facts[0].kind if facts else "name" if answer[:1].isupper() else "words"


# -- claims by rules ---------------------------------------------------------------------------------------------------


def corrupted(document: str, claim: str, rng: random.Random, *, at_most: int, opening: bool = True) -> Iterator[Pair]:
    """A supported claim and corruptions of it; both begin in the same way."""
    wrong = corruptions(document, claim, kinds=KINDS, seed=rng.randrange(1 << 30))
    if not wrong:
        return
    start = rng.choice(OPENINGS) if opening and rng.random() < 0.15 else ""
    yield Pair(document, start + claim, "entailment", "rule:supported")
    rare = [answer for answer in wrong if answer.kind not in ("addition", "negation", "relation")]
    rng.shuffle(rare)
    common = [answer for answer in wrong if answer not in rare]
    rng.shuffle(common)
    drawn = rare[:at_most] if rng.random() < 0.7 else []
    for answer in drawn or common[: max(1, at_most - 1)]:
        yield Pair(document, start + answer.text, LABELS.get(answer.kind, UNSUPPORTED), f"rule:{answer.kind}")


def swapped(document: str, claim: str, rng: random.Random) -> Iterator[Pair]:
    """Two facts of a claim exchanged, or one for another of the document: looser than corruptions, more often."""
    own = [*find_facts(claim), *find_names(claim)]
    others = [*find_facts(document), *find_names(document)]
    rng.shuffle(own)
    if rng.random() < 0.6:
        own.sort(key=lambda fact: fact.kind == "name")  # numbers and dates are rarer
    for fact in own:
        text = claim[fact.start : fact.end]
        alike = [document[o.start : o.end] for o in others if _fits(fact, o) and document[o.start : o.end] not in claim]
        pair = next(
            (o for o in own if o.start > fact.end + 3 and _fits(fact, o) and not _is_list(claim[fact.end : o.start])),
            None,
        )
        if pair and rng.random() < 0.5:
            new = claim[pair.start : pair.end]
            wrong = claim[: fact.start] + new + claim[fact.end : pair.start] + text + claim[pair.end :]
        elif alike:
            wrong = claim[: fact.start] + rng.choice(alike) + claim[fact.end :]
        else:
            continue
        if wrong.lower().rstrip(".") not in document.lower():
            yield Pair(document, claim, "entailment", "rule:supported")
            yield Pair(document, wrong, UNSUPPORTED, f"swap:{fact.kind}")
        return


def _fits(one: Fact, other: Fact) -> bool:
    if one.kind != other.kind or one.unit != other.unit or agree(one, other) or agree(other, one):
        return False
    if one.kind == "name":
        return set(one.value.split()).isdisjoint(other.value.split()) and abs(len(one.value) - len(other.value)) < 12
    return one.kind != "date" or one.value.count("*") == other.value.count("*")


def _is_list(between: str) -> bool:
    return re.fullmatch(r"[\s,&]*(?:and|or|to|–|-)?[\s,]*", between) is not None


def from_sentences(parts: Sequence[str], rng: random.Random) -> Iterator[Pair]:
    """One sentence of a document: whole, shortened or fused with the next; corrupted there or here; or absent."""
    good = [i for i, part in enumerate(parts) if 6 <= len(part.split()) <= 45 and part[-1:] in '."']
    if not good:
        return
    at = rng.choice(good)
    document = window(parts, at, rng)
    claim = parts[at]
    short = shortened(claim, rng)
    if (
        at + 1 < len(parts)
        and parts[at + 1] in document
        and len(f"{claim} {parts[at + 1]}".split()) < 45
        and rng.random() < 0.25
    ):
        claim = fused(claim, parts[at + 1])
    elif short and rng.random() < 0.6:
        claim = short
    draw = rng.random()
    if draw < 0.15:
        rest = [part for part in parts[max(0, at - 2) : at + 3] if part != parts[at]]
        if rest:
            yield Pair(premise_of(rest), claim, "neutral", "rule:absent")
    elif draw < 0.4:  # the document is changed, the claim is what it said before, or what it says now
        wrong = corruptions(document, parts[at], kinds=KINDS[:-2], seed=rng.randrange(1 << 30))
        if wrong:
            answer = rng.choice(wrong)
            changed = document.replace(parts[at], answer.text)
            yield Pair(changed, parts[at], LABELS.get(answer.kind, UNSUPPORTED), f"rule:{answer.kind}")
            yield Pair(changed, answer.text, "entailment", "rule:supported")
    else:
        yield from corrupted(document, claim, rng, at_most=2)


def documents(claims: Sequence[Claim], articles: Sequence[Article], pages: Sequence[Sequence[str]]) -> list[list[str]]:
    several = {claim.evidence for claim in claims if sum(len(part.split()) for part in claim.evidence) > 15}
    texts = [split_sentences(article.text) for article in articles]
    return [*map(list, sorted(several)), *texts, *map(list, pages)]


# -- the mixture -------------------------------------------------------------------------------------------------------


def mixture(data: Path, rng: random.Random, times: int) -> Iterator[Pair]:
    """All pairs; `times` as many claims by rules as in the first pass."""
    apart, ours = list(fm2(data, kept_apart=True)), list(fm2(data, kept_apart=False))
    claims, articles = fever_apart_from(data, apart), list(squad(data, kept_apart=False))
    web = list(wice(data))
    yield from judged(claims, "fever")
    for _ in range(3):
        yield from judged(ours, "fm2")
        yield from judged([claim for whole, rest, _ in web for claim in (whole, rest) if claim], "wice")
    yield from elsewhere(claims, rng, 2500)
    yield from answers(articles, rng)
    supported = [claim for claim in (*claims, *ours, *ours) if claim.label == "entailment"]
    for claim in rng.sample(supported, 3800):
        yield from corrupted(premise_of(claim.evidence), claim.text, rng, at_most=1)
    for claim in rng.sample(supported, 3500):
        yield from swapped(premise_of(claim.evidence), claim.text, rng)
    known = documents(claims, articles, [page for _, _, page in web])
    long = [one for one in known if len(one) > 1]
    for _ in range(4000 * times):
        yield from from_sentences(rng.choice(long if rng.random() < 0.75 else known), rng)
    for _ in range(7000 * times):
        parts = rng.choice(long)
        at = rng.randrange(len(parts))
        if 6 <= len(parts[at].split()) <= 45:
            yield from swapped(window(parts, at, rng), shortened(parts[at], rng) or parts[at], rng)
    yield from bindings(rng, 1500)
    lexical = [claim for claim, kept_apart in breaking(data) if not kept_apart]
    wrong = [claim for claim in lexical if claim.label == "contradiction"]
    yield from judged(
        [*rng.sample(wrong, 1300), *(claim for claim in lexical if claim.label != "contradiction")], "breaking"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--shared", type=Path, required=True, help="the folder with data/factcheck, data/wice, data/nli"
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=1, help="as many claims by rules")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    pairs = list(mixture(options.shared / "data", rng, options.times))
    rng.shuffle(pairs)
    write_pairs(pairs, options.out)
    counts = Counter(
        (pair.source.split(":")[0] if pair.source.startswith("sgd") else pair.source, pair.label) for pair in pairs
    )
    for (source, label), count in sorted(counts.items()):
        print(source, label, count)
    print("pairs", len(pairs))


if __name__ == "__main__":
    main()
