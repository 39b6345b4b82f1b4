"""Cached backends: the same answers, each computed once, whatever happens to the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.models.worker import pair
from troth.models import Continuation, Entailment, Request, TextPair
from troth.models.cached import ROOM, CachedLm, CachedNli
from troth.models.fake import FakeLm, FakeNli
from troth.models.protocols import WordedEntailment
from troth.storage.cache import Store, key

ROOT = Path(__file__).parents[2]
PAIRS = [pair(number) for number in range(200)]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "scores.sqlite")


# -- entailment --------------------------------------------------------------------------------------------------------


def test_equal_to_the_inner_one_and_asked_once(file: str) -> None:
    inner = FakeNli()
    cached = CachedNli(inner, Store(file))
    expected = FakeNli().probabilities(PAIRS + PAIRS[:50])
    assert cached.probabilities(PAIRS + PAIRS[:50]) == expected
    assert sorted(inner.asked) == sorted(PAIRS)
    again = FakeNli()
    assert CachedNli(again, Store(file)).probabilities(PAIRS + PAIRS[:50]) == expected, "bit by bit"
    assert again.asked == []


class Worded(FakeNli):
    """Doubts every word a little more than the one before it."""

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        return [
            WordedEntailment.of(told, bytes(range(len(hypothesis.split()))))
            for (_, hypothesis), told in zip(pairs, super().probabilities(pairs), strict=True)
        ]


def test_the_doubt_of_words_is_kept(file: str) -> None:
    asked = [*PAIRS[:5], ("a", "b c d"), ("a", "")]
    first = CachedNli(Worded(), Store(file)).probabilities(asked)
    again = CachedNli(Worded(), Store(file)).probabilities(asked)
    assert again == first
    assert [getattr(answer, "doubts", b"") for answer in again] == [
        bytes(range(len(hypothesis.split()))) for _, hypothesis in asked
    ]


def test_only_what_is_missing_is_asked(file: str) -> None:
    CachedNli(FakeNli(), Store(file)).probabilities(PAIRS[:120])
    inner = FakeNli()
    CachedNli(inner, Store(file)).probabilities(PAIRS)
    assert sorted(inner.asked) == sorted(PAIRS[120:])


def test_no_pairs(file: str) -> None:
    assert CachedNli(FakeNli(), Store(file)).probabilities([]) == []


def test_models_do_not_share_answers(file: str) -> None:
    class Other(FakeNli):
        name = "fake-nli@2"

    CachedNli(FakeNli(), Store(file)).probabilities(PAIRS)
    other = Other(lambda *_: Entailment(0.0, 1.0, 0.0))
    assert CachedNli(other, Store(file)).probabilities(PAIRS[:1]) == [Entailment(0.0, 1.0, 0.0)]
    assert [kept.model for kept in Store(file).summary().models] == ["fake-nli@1", "fake-nli@2"]


def test_premise_and_hypothesis_are_told_apart(file: str) -> None:
    inner = FakeNli()
    CachedNli(inner, Store(file)).probabilities([("ab", "c"), ("a", "bc"), ("bc", "a"), ("\ud800", "é")])
    assert len(inner.asked) == 4


def test_cut_pairs_are_counted_from_the_cache_too(file: str) -> None:
    class Short(FakeNli):
        def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
            self.shortened.update(pair for pair in pairs if len(pair[0]) > 30)
            return super().probabilities(pairs)

    long = sum(len(premise) > 30 for premise, _ in PAIRS)
    assert 0 < long < 200
    for _ in range(2):
        cached = CachedNli(Short(), Store(file))
        cached.probabilities(PAIRS)
        cached.probabilities(PAIRS[:30])
        assert cached.cut == long


def test_answers_are_kept_before_the_next_batch(file: str) -> None:
    """One that fails half-way has kept all batches before."""

    class Failing(FakeNli):
        def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
            if len(self.asked) >= 100:
                raise RuntimeError("no more")
            return super().probabilities(pairs)

    failing = Failing()
    with pytest.raises(RuntimeError):
        CachedNli(failing, Store(file)).probabilities(PAIRS)
    inner = FakeNli()
    assert CachedNli(inner, Store(file)).probabilities(PAIRS) == FakeNli().probabilities(PAIRS)
    assert sorted(inner.asked + failing.asked) == sorted(PAIRS)


# -- language models ---------------------------------------------------------------------------------------------------

REQUESTS = [
    Request(("Document: tea.\n\n", "hi.\n"), "Agent: tea is nice."),
    Request(("Document: tea.\n\nhi.\n",), "Agent: tea is nice."),
    Request(("hi.\n",), "Agent: tea is nice."),
    Request((), "Agent: tea is nice."),
    Request((), "Agent: tea is nice.", bos=True),
    Request(("hi.\n",), "Agent: tea is nice.", shorten=1),
    Request(("a", "b"), ""),
    Request(("a",), "b"),
    Request(("a\ud800",), "half \udc00 a pair"),
]


def test_logprobs(file: str) -> None:
    inner = FakeLm()
    expected = FakeLm().logprobs(REQUESTS)
    assert CachedLm(inner, Store(file)).logprobs([*REQUESTS, *REQUESTS]) == expected * 2
    assert len(inner.asked) == len(REQUESTS), "each is its own question"
    again = FakeLm()
    kept = CachedLm(again, Store(file)).logprobs(REQUESTS)
    assert kept == expected
    assert isinstance(kept[0], Continuation)
    assert kept[3].logprobs[0] is None
    assert again.asked == []


def test_a_pair_is_short_for_a_request(file: str) -> None:
    inner = FakeLm()
    cached = CachedLm(inner, Store(file))
    assert cached.logprobs([("hi.\n", "yes")]) == cached.logprobs([Request(("hi.\n",), "yes")])
    assert cached.logprobs([("", "yes")]) == cached.logprobs([Request((), "yes")])
    assert len(inner.asked) == 2


def test_generation_is_kept_by_its_options(file: str) -> None:
    inner = FakeLm()
    cached = CachedLm(inner, Store(file))
    prompts = ["one two three four", "five six"]
    assert cached.generate(prompts) == FakeLm().generate(prompts)
    cached.generate(prompts, seed=7)  # nothing is drawn
    assert len(inner.prompts) == 2
    cached.generate(prompts, max_tokens=1)
    cached.generate(prompts, temperature=0.5)
    cached.generate(prompts, temperature=0.5, seed=1)
    assert len(inner.prompts) == 8


# -- processes ---------------------------------------------------------------------------------------------------------


def start(*arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.models.worker", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> str:
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err) == (0, "")
    return out


def test_killed_amid_5000_pairs_and_started_again(tmp_path: Path, file: str) -> None:
    names = [hypothesis for _, hypothesis in map(pair, range(5000))]
    whole = ended(start(str(tmp_path / "whole.sqlite"), str(tmp_path / "whole.log"), "0", "5000", "0"))
    first, second = tmp_path / "first.log", tmp_path / "second.log"
    process = start(file, str(first), "0", "5000", "0.0004")
    until = time.monotonic() + 60
    while not first.exists() or first.read_bytes().count(b"\n") < 1000:
        assert process.poll() is None, process.stderr
        assert time.monotonic() < until
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = Store(file)
    there = kept.get([key("nli", FakeNli.name, *pair(number)) for number in range(5000)])
    committed = {names[n] for n in range(5000) if key("nli", FakeNli.name, *pair(n)) in there}
    kept.close()
    done = set(first.read_text().split("\n")[:-1])
    assert 900 < len(committed) < 5000, "it was killed in the middle"
    assert committed <= done
    assert len(done - committed) <= ROOM.items, "no more is lost than the batch that was not yet answered"

    assert ended(start(file, str(second), "0", "5000", "0")) == whole, "the result is an uninterrupted run's"
    computed = second.read_text().splitlines()
    assert len(computed) == len(set(computed))
    assert set(computed) == set(names) - committed, "what was kept is not computed again"


def test_several_processes_on_one_new_file(tmp_path: Path, file: str) -> None:
    expected = ended(start(str(tmp_path / "alone.sqlite"), os.devnull, "0", "1500", "0"))
    halves = [("0", "1000"), ("500", "1500"), ("0", "1500"), ("0", "1500")]
    processes = [start(file, os.devnull, *half) for half in halves]
    results = [ended(process) for process in processes]
    assert results[2:] == [expected] * 2
    assert Store(file).summary().answers == 1500, "no row is lost"


def test_several_processes_find_a_damaged_file(tmp_path: Path, file: str) -> None:
    kept = Store(file)
    kept.put("m", [(b"k", b"v")])
    kept.close()
    spoilt = Path(file).read_bytes()[:4096] + b"damaged" * 5000
    Path(file).write_bytes(spoilt)
    results = [process.communicate(timeout=120) for process in [start(file, os.devnull, "0", "300") for _ in range(3)]]
    assert len({out for out, _ in results}) == 1, results
    assert results[0][0]
    assert "".join(err for _, err in results).count("the cache is damaged") == 1
    (aside,) = tmp_path.glob("*.corrupt-*[0-9]")
    assert aside.read_bytes() == spoilt
    assert Store(file).summary().answers == 300


def test_a_forked_process_has_a_connection_of_its_own(file: str, tmp_path: Path) -> None:
    expected = ended(start(str(tmp_path / "alone.sqlite"), os.devnull, "0", "400", "0"))
    assert ended(start(file, os.devnull, "0", "400", "0", "forked")) == expected
    assert Store(file).summary().answers == 400
