"""Paraphrases by a language model, with stand-ins for it: marks, rules, choice, fallback, record."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.cli.conftest import Troth, fine, troth  # noqa: F401 (fixtures)
from troth import demo, models
from troth.core.errors import UserError
from troth.core.records import Dialogue, Frame, Span, Turn
from troth.models import Entailment
from troth.models.fake import FakeNli
from troth.perturb.users import Inventory, Twin, guard, lm
from troth.perturb.users.engines import Failed, Rewrite
from troth.perturb.users.lm import LmParaphraser, find_drift
from troth.perturb.users.paraphrase import BY_ENGINE, BY_LM, Paraphrase
from troth.perturb.users.run import perturb

NOTHING = Inventory({}, frozenset(), frozenset())
YES, NO = Entailment(0.9, 0.05, 0.05), Entailment(0.05, 0.9, 0.05)
TEXT = "I want to travel from Fresno to Long Beach tomorrow."
SPANS = (Span("origin", 22, 28), Span("destination", 32, 42))
TRIP = Dialogue("1", (Turn("USER", TEXT, (Frame("Trains_1", None, SPANS),)),))


class Writer:
    """A language model that gives what it is told, one call after the other."""

    name = "writer@1"

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.prompts: list[str] = []
        self.options: list[dict[str, Any]] = []

    def logprobs(self, requests: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def generate(self, prompts: Sequence[str], **options: Any) -> list[str]:
        self.prompts += prompts
        self.options.append(options)
        answer = self.answers.pop(0) if self.answers else ""
        return [answer] * len(prompts)


def reword(writer: Writer, dialogue: Dialogue = TRIP, *, tries: int = 3, entailed: bool = True) -> Twin:
    def entails(pairs: Sequence[tuple[str, str]]) -> list[bool]:
        return [entailed] * len(pairs)

    return Paraphrase(tries=tries).perturb(dialogue, Random(0), NOTHING, entails=entails, lm=writer)


def test_values_are_marks_in_the_prompt_and_spans_follow_them() -> None:
    writer = Writer(" Please find me a ride to [B] from [A], [C] if possible.\n\nLine: Another one")
    twin = reword(writer, tries=1)
    assert writer.prompts[0].endswith("Line: I want to travel from [A] to [B] [C].\nReworded:")
    (turn,) = twin.dialogue.turns
    assert turn.text == "Please find me a ride to Long Beach from Fresno, tomorrow if possible."
    spans = turn.frames[0].spans or ()
    assert [(s.slot, turn.text[s.start : s.exclusive_end]) for s in spans] == [
        ("origin", "Fresno"),
        ("destination", "Long Beach"),
    ]
    assert (twin.figures[BY_LM], twin.figures[BY_ENGINE]) == (1, 0)


def test_of_those_that_pass_the_one_with_most_words_replaced() -> None:
    mild = "I want to travel to [B] from [A] [C], please.\n"
    strong = "Get me a ride from [A] to [B] for [C].\n"
    for answers in ((mild, strong, mild), (strong, mild, ""), (mild, mild, strong)):
        (turn,) = reword(Writer(*answers)).dialogue.turns
        assert turn.text == "Get me a ride from Fresno to Long Beach for tomorrow."


def test_without_a_wording_that_passes_the_phrase_tables_are_asked_and_counted() -> None:
    lost, swapped = "Get me to [B] for [C].\n", "Get me a ride from [B] to [A] for [C].\n"
    twin = reword(Writer(lost, swapped, ""))
    plain = Paraphrase().perturb(TRIP, Random(0), NOTHING)
    assert twin.dialogue == plain.dialogue != TRIP
    assert (twin.figures[BY_LM], twin.figures[BY_ENGINE]) == (0, 1)
    refused = {key: count for key, count in twin.figures.items() if key.startswith("wordings refused")}
    assert sum(refused.values()) == 3
    assert refused["wordings refused: value lost"] == 1
    assert refused[f"wordings refused: {lm.MALFORMED.reason}"] == 1


def test_what_is_not_entailed_is_not_taken() -> None:
    twin = reword(Writer(*["Get me a ride from [A] to [B] for [C].\n"] * 3), entailed=False)
    assert twin.dialogue == TRIP
    assert twin.refused == {guard.ENTAILED: 1}
    assert twin.figures[f"wordings refused: {guard.ENTAILED}"] == 3


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("I need a cab.", "Could you get me a taxi?", None),
        ("What is the address?", "Tell me where it is.", None),
        ("Yes, that works.", "Sure, I'm happy with this.", None),
        ("Thanks for your help. I am done for now.", "I'm finished, thank you for your assistance.", None),
        ("What kind of place is it?", "Tell me more about this venue.", None),
        ("I need a cab.", "Do you need a taxi?", lm.VOICE),
        ("Find me a hotel.", "How can I help you find a place?", lm.VOICE),
        ("That works for me.", "Does it suit us?", lm.MOOD),
        ("What is the address?", "It has a street and a town.", lm.MOOD),
        ("Great, thanks a lot.", "Wonderful, perfect.", lm.COURTESY),
        ("That is all.", "We are done, goodbye.", lm.COURTESY),
        ("Thanks for your help and that's all.", "Many thanks, you're very helpful.", lm.COURTESY),
        ("Thanks, that's it.", "Many thanks, nothing else.", None),
        ("I want to see a film.", "Please show me a movie in Leeds.", lm.ADDED),
        ("Yes.", "Sure, I would be very happy to go with this one today, really.", lm.LENGTH),
        ("I want a table for us at a good place that serves fish.", "Get food.", lm.LENGTH),
    ],
)
def test_drift(old: str, new: str, reason: str | None) -> None:
    assert find_drift(old, new) == reason


def test_a_role_before_a_value_must_not_be_missing() -> None:
    text = "I'll be travelling from Fresno."
    turn = Turn("USER", text, (Frame("S", None, (Span("origin", 24, 30),)),))
    stretches = guard.find_protected(turn)
    assert lm.check_wording(turn, stretches, "My travels will involve Fresno.") == guard.ROLE
    assert isinstance(lm.check_wording(turn, stretches, "My trip begins from Fresno."), Turn)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("Reworded: Off to [A].\nmore", "Off to Rome."),
        ('"Off to [A]."', "Off to Rome."),
        ("Off to [A]. Line: I want", "Off to Rome."),
        ("Off to [A] and then", lm.MALFORMED),  # broken off
        ("\n\n", lm.MALFORMED),
        ("Off to [B].", Failed(guard.GARBLED)),
        ("Off to [A], [A].", Failed(guard.GARBLED)),
    ],
)
def test_answers(answer: str, expected: str | Failed) -> None:
    request = Rewrite("I go to Rome.", (guard.Stretch(8, 12, guard.VALUE),), 0)
    assert LmParaphraser(Writer(answer), 0.7).rewrite([request]) == [expected]


def test_more_values_than_marks_are_not_asked() -> None:
    text = " ".join("7" * 27)
    stretches = tuple(guard.Stretch(2 * i, 2 * i + 1, guard.NUMBER) for i in range(27))
    writer = Writer()
    assert LmParaphraser(writer, 0.7).rewrite([Rewrite(text, stretches, 0)]) == [lm.MANY]
    assert writer.prompts == []


def test_braces_in_a_turn_are_text() -> None:
    writer = Writer("Hm.\n")
    LmParaphraser(writer, 0.7).rewrite([Rewrite("{text} {0}", (), 0)])
    assert "Line: {text} {0}\n" in writer.prompts[0]


class Courteous(Writer):
    """Says yes and thanks in its own words, by its seed."""

    def generate(self, prompts: Sequence[str], *, seed: int = 0, **options: Any) -> list[str]:
        super().generate(prompts, seed=seed, **options)
        return ["Many thanks indeed.\n" if seed % 2 else "Much appreciated, thank you.\n"] * len(prompts)


def test_a_corpus_is_the_same_for_a_seed_and_the_record_names_the_models(tmp_path: Path) -> None:
    gold, yes = demo.path("gold"), FakeNli(lambda *_: YES)
    folders = [tmp_path / name for name in ("first", "again", "other")]
    for folder, seed in zip(folders, (1, 1, 2), strict=True):
        perturb(gold, folder, with_="paraphrase", lm=Courteous(), nli=yes, seed=seed, workers=4)
    first, again, other = ((folder / "dialogues_001.json").read_bytes() for folder in folders)
    assert first == again != other
    (effect,) = json.loads((folders[0] / "perturbation.json").read_bytes())["families"]
    assert (effect["options"]["lm"], effect["options"]["nli"]) == ("writer@1", "fake-nli@1")
    assert effect["figures"][BY_LM] > 0
    assert effect["figures"][BY_LM] + effect["figures"][BY_ENGINE] == effect["turns_changed"]
    assert set(effect["per_word"]) == {"words replaced", "word edits"}


def test_answers_are_cached_so_that_a_killed_run_goes_on(tmp_path: Path) -> None:
    from troth.models.cached import CachedLm
    from troth.storage.cache import Store

    writers = [Courteous(), Courteous()]
    for number, writer in enumerate(writers):
        cached = CachedLm(writer, Store.at(str(tmp_path / "cache.sqlite")))
        perturb(demo.path("gold"), tmp_path / str(number), with_="paraphrase", lm=cached, nli=FakeNli(lambda *_: YES))
    assert writers[0].prompts
    assert writers[1].prompts == []
    first, second = ((tmp_path / name / "dialogues_001.json").read_bytes() for name in ("0", "1"))
    assert first == second


def test_the_embedded_entailment_model_judges_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def nli(name: str, **_: Any) -> FakeNli:
        opened.append(name)
        return FakeNli(lambda *_: NO)

    monkeypatch.setattr(models, "nli", nli)
    done = perturb(demo.path("gold"), tmp_path / "out", with_="paraphrase", lm=Courteous())
    assert opened == ["embedded"]
    assert done.families[0].turns_changed == 0


def test_one_line_where_the_model_is_missing_or_has_nothing_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no GGUF model is called 'missing'"):
        perturb(demo.path("gold"), tmp_path / "out", with_="paraphrase", lm="gguf:missing")
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError, match=r"no family takes one \(families that do: paraphrase\)"):
        perturb(demo.path("gold"), tmp_path / "out", with_="format", lm=Courteous())


def test_command(fine: Troth, tmp_path: Path) -> None:  # noqa: F811
    """The stand-in repeats its prompt's last line, so that all turns are left to the phrase tables."""
    options = ("--with", "paraphrase", "--lm", "fake", "--nli", "fake")
    result = fine("perturb", "dialogue", demo.path("gold"), str(tmp_path / "out"), *options)
    (effect,) = json.loads((tmp_path / "out" / "perturbation.json").read_bytes())["families"]
    share = 100 * effect["per_word"]["words replaced"]
    assert effect["options"]["lm"] == "fake-lm@1"
    assert effect["figures"][BY_LM] == 0
    line = "turns reworded by the language model: 0; by the engine, where no wording passed: "
    assert f"{line}{effect['turns_changed']}; words replaced: {share:.1f}%\n" in result.err
