"""Disfluency: nothing is lost, nothing of the annotation changes, rates are what they are called."""

from __future__ import annotations

import re
import sys
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.limits import processor_limit
from tests.perturb import conftest
from tests.perturb.conftest import Corpus, Make, check, corpus_of
from troth.core.records import Dialogue, Frame, State, Turn
from troth.perturb.users import apply, disfluency
from troth.perturb.users.disfluency import Disfluency, value_shape


def unchanged_but_for_text(before: Dialogue, after: Dialogue) -> None:
    for old, new in zip(before.turns, after.turns, strict=True):
        if old.speaker == "SYSTEM":
            assert new == old
        for frame, other in zip(old.frames, new.frames, strict=True):
            assert (frame.state, frame.acts) == (other.state, other.acts)
            cuts = [
                [turn.text[span.start : span.exclusive_end] for span in marked or ()]
                for turn, marked in ((old, frame.spans), (new, other.spans))
            ]
            assert cuts[0] == cuts[1]


def words(text: str) -> list[str]:
    return re.findall(r"[\w'’]+", text.lower())


def is_subsequence(few: list[str], many: list[str]) -> bool:
    rest = iter(many)
    return all(word in rest for word in few)


@pytest.mark.parametrize("scale", [1.0, 8.0])
def test_laws_on_sgd(sgd: Corpus, scale: float) -> None:
    for before, made in zip(sgd.dialogues, sgd.perturbed("disfluency", scale=scale), strict=True):
        check(before, made.dialogue)
        unchanged_but_for_text(before, made.dialogue)
        for index, (old, new) in enumerate(zip(before.turns, made.dialogue.turns, strict=True)):
            assert (old.text != new.text) == (index in made.turns)
            assert is_subsequence(words(old.text), words(new.text))


def test_laws_on_multiwoz(multiwoz: Corpus) -> None:
    for before, made in zip(multiwoz.dialogues, multiwoz.perturbed("disfluency", scale=2.0), strict=True):
        check(before, made.dialogue)
        unchanged_but_for_text(before, made.dialogue)


def test_laws_on_bundled(bundled: Corpus) -> None:
    for before, made in zip(bundled.dialogues, bundled.perturbed("disfluency", scale=5.0), strict=True):
        check(before, made.dialogue)


def test_rates_are_kept(sgd: Corpus) -> None:
    made = sgd.perturbed("disfluency")
    total = {key: sum(m.figures[key] for m in made) for key in made[0].figures}
    for kind in ("fillers", "repetitions", "restarts"):
        assert total[kind] / total["words"] == pytest.approx(getattr(Disfluency(), kind), rel=0.15)
    tell = sum(any(f.spans for f in turn.frames) for d in sgd.dialogues for turn in d.turns if turn.speaker == "USER")
    assert total["repairs"] / tell == pytest.approx(Disfluency().repairs, rel=0.1)


def test_nothing_at_rate_zero(bundled: Corpus) -> None:
    made = bundled.perturbed("disfluency", scale=0.0)
    assert [m.dialogue for m in made] == bundled.dialogues
    assert all(m.turns == () for m in made)


def test_a_repair_says_a_wrong_value_first_and_the_right_one_last(make: Make) -> None:
    others = [make((f"Play {name}.", {"song": name}), name=name) for name in ("Hurt", "Hello", "Limbo Song", "Creep")]
    before = make(("I want to hear Limbo now.", {"song": "Limbo"}))
    known = corpus_of([before, *others]).known
    options = Disfluency(fillers=0, repetitions=0, restarts=0, repairs=1)
    seen = set()
    for seed in range(40):
        made = apply(options, before, known, seed=seed)
        text = made.dialogue.turns[0].text
        found = re.fullmatch(r"I want to hear (\w+), (.+) Limbo now\.", text)
        assert found, text
        seen.add(found[1])
        span = made.dialogue.turns[0].frames[0].spans[0]  # type: ignore[index]
        assert text[span.start : span.exclusive_end] == "Limbo"
    assert seen == {"Hurt", "Hello", "Creep"}  # "Limbo Song" could be taken for Limbo


def test_no_repair_without_another_value(make: Make) -> None:
    before = make(("I want to hear Limbo now.", {"song": "Limbo"}))
    options = Disfluency(fillers=0, repetitions=0, restarts=0, repairs=1)
    made = apply(options, before, corpus_of([before]).known)
    assert made.dialogue == before
    assert made.refused == {"no other value of the slot is known": 1}


@pytest.mark.parametrize(
    ("text", "mark"),
    [("I want to hear Limbo now.", ","), ("i want to hear limbo now", None), ("I want to hear Limbo now .", " ,")],
)
def test_style_of_the_text_is_kept(make: Make, text: str, mark: str | None) -> None:
    before = make((text, {}))
    options = Disfluency(fillers=1.0, repetitions=0, restarts=0, repairs=0)
    made = apply(options, before, corpus_of([before]).known, seed=1)
    new = made.dialogue.turns[0].text
    assert made.figures["fillers"] >= 5
    assert ("," in new) == (mark is not None)
    assert (" ," in new) == (mark == " ,")
    assert new.islower() == (mark is None)


@settings(max_examples=60)
@given(st.text(alphabet=st.sampled_from("ab I.,?'é\t\n"), min_size=1, max_size=40), st.integers(0, 9))
def test_any_text_keeps_its_words(text: str, seed: int) -> None:
    before = conftest.dialogue((text, {}))
    made = apply(Disfluency(scale=12.0), before, corpus_of([before]).known, seed=seed).dialogue
    assert is_subsequence(text.lower().split(), re.sub(r"(?<=\w),", "", made.turns[0].text.lower()).split()) or (
        is_subsequence(words(text), words(made.turns[0].text))
    )


def test_seed_decides(bundled: Corpus) -> None:
    first, again, other = (bundled.perturbed("disfluency", seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_rates_must_be_rates() -> None:
    with pytest.raises(ValueError, match="fillers"):
        Disfluency(fillers=-0.1)


def long_dialogue(words: int) -> Dialogue:
    """One turn of many words, some of which are values."""
    rng = Random(0)
    said = ("the", "a", "to", "in", "Paris", "please", "find", "me", "hotel", "and", "London", "tomorrow", "I", "it.")
    text = " ".join(rng.choice(said) for _ in range(words))
    state = State("Find", (), {"city": ("Paris", "in Paris"), "other": ("London",), "letter": ("a",)})
    return Dialogue("1", (Turn("USER", text, (Frame("Hotels_1", state),)),))


def calls(dialogue: Dialogue, scale: float) -> int:
    """How many functions are called, Python's own included."""
    known, count = corpus_of([dialogue]).known, 0

    def counted(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        apply(Disfluency(scale=scale), dialogue, known)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_work_grows_with_the_length_of_a_text(scale: float) -> None:
    assert calls(long_dialogue(16_000), scale) < 6 * calls(long_dialogue(4_000), scale)


def test_a_very_long_text_takes_seconds_at_most() -> None:
    """Copies of the text do not show in the number of calls; 400 kB took 40 seconds with some, and take 0.3 without."""
    dialogue = long_dialogue(80_000)
    with processor_limit():
        made = apply(Disfluency(), dialogue, corpus_of([dialogue]).known)
    assert made.figures["inserted"] > 1_000


@pytest.mark.parametrize(
    ("said", "wrong", "alike"),
    [
        ("11th", "March 8th", False),
        ("11th", "8th", True),
        ("March 8th", "May 1st", True),
        ("Alder Court", "Birch", True),
        ("5:30 pm", "7:15 pm", True),
        ("5:30 pm", "noon", False),
        ("Sunday", "Friday", True),
        ("Sunday", "next Friday", False),
        ("San Francisco", "Sydney, Australia", False),
        ("Long Beach, CA", "Sydney, Australia", True),
    ],
)
def test_a_wrong_value_is_written_like_the_right_one(said: str, wrong: str, alike: bool) -> None:
    assert (value_shape(said) == value_shape(wrong)) == alike


def test_beginnings_that_are_dropped_fit_what_follows() -> None:
    """None before a sentence that no beginning leads to: no "So I, um, Nothing else"."""
    dropped = {(word, text) for word, texts in disfluency._abandoned_beginnings().items() for text in texts}
    assert {word for word, _ in dropped}.isdisjoint({"nothing", "that", "yes", "no", "thanks", "perfect"})
    assert ("i'm", "so I") in dropped
    assert ("find", "so I") not in dropped


@pytest.mark.parametrize(
    ("text", "right", "others", "expected"),
    [
        ("I want to hear Limbo now.", "Limbo", ("hurt", "Creep"), {"Creep"}),
        ("I want to hear Limbo now.", "Limbo", ("hurt me",), {"Hurt Me"}),
        ("Make it for later today.", "later today", ("Tomorrow", "later tomorrow"), {"later tomorrow"}),
        ("Make it for later today.", "later today", ("Tomorrow",), {"tomorrow"}),
        ("See you on the 8th.", "8th", ("4th",), {"4th"}),
        ("I leave next Tuesday.", "next Tuesday", ("This Sunday",), {"this Sunday"}),
    ],
)
def test_a_wrong_value_has_the_capitals_of_the_right_one(
    make: Make, text: str, right: str, others: tuple[str, ...], expected: set[str]
) -> None:
    before = make((text, {"value": right}))
    known = corpus_of([before, *(make((f"Say {name}.", {"value": name}), name=name) for name in others)]).known
    options = Disfluency(fillers=0, repetitions=0, restarts=0, repairs=1)
    start, end = text.split(right)
    told = {apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(30)}
    assert {one.removeprefix(start).partition(",")[0] for one in told} == expected
    article = "the " if right == "8th" else ""  # "the 4th, wait, no, the 8th"
    assert all(one.endswith(f" {article}{right}{end}") for one in told)


def test_a_sentence_begins_with_one_capital(make: Make) -> None:
    before = make(("Nice. Help me find a song. Bye.", {}))
    options = Disfluency(fillers=0.5, repetitions=0, restarts=0.5, repairs=0)
    known = corpus_of([before]).known
    told = [apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(40)]
    assert any(", nice." in text for text in told)
    assert not any(f", {word}" in text for text in told for word in ("Nice", "Help", "Bye"))


def test_thank_you_stays_together(make: Make) -> None:
    before = make(("Ok, thank you.", {}))
    known = corpus_of([before]).known
    options = Disfluency(fillers=1.0, repetitions=0, restarts=0, repairs=0)
    assert all("thank you" in apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(20))


@pytest.mark.parametrize(("text", "is_led_to"), [("How far is it?", True), ("How kind, thank you.", False)])
def test_only_questions_follow_a_question_that_is_dropped(make: Make, text: str, is_led_to: bool) -> None:
    before = make((text, {}))
    known = corpus_of([before]).known
    options = Disfluency(fillers=0, repetitions=0, restarts=1.0, repairs=0)
    told = [apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(20)]
    assert any(one.startswith(("Can you tell me, ", "I was wondering, ")) for one in told) == is_led_to


def test_a_restart_begins_with_a_phrase(make: Make) -> None:
    before = make(("Find a drama movie I can watch.", {}))
    known = corpus_of([before]).known
    options = Disfluency(fillers=0, repetitions=0, restarts=0.4, repairs=0)
    told = [apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(60)]
    assert any("I can, I can" in text for text in told)
    assert not any("movie I can, movie" in text or "drama movie, drama" in text for text in told)


def test_a_restart_repeats_the_auxiliary(make: Make) -> None:
    before = make(("Do you have anything else?", {}))
    known = corpus_of([before]).known
    options = Disfluency(fillers=0, repetitions=0, restarts=0.4, repairs=0)
    told = [apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(60)]
    assert any("Do you have, do you have" in text for text in told)
    assert not any("have, you have" in text or "anything, you have" in text for text in told)


def test_a_restart_does_not_go_back_over_a_conjunction(make: Make) -> None:
    before = make(("Where are they located and who owns it?", {}))
    options = Disfluency(fillers=0, repetitions=0, restarts=0.4, repairs=0)
    known = corpus_of([before]).known
    told = [apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(60)]
    assert any("and who, " in text for text in told)
    assert not any("located and," in text or "located and who," in text.partition("and who,")[2] for text in told)


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("Thank you so much.", ("you so, you", "Thank you, you", "you, I mean, so", "you, you know, so")),
        ("And who stars in that, by the way?", ("by the, the", "the, uh, way", "by, uh, the")),
        ("I want to check in on Monday.", ("check, ", "in, in")),
        ("Is this a furnished one?", ("a, sorry, this a", "a, this a")),
        ("Please tell me the rent.", ("the, me the", "the, sorry, me the")),
        ("Can you book a car rental?", ("car, you know",)),
        ("That'll be all.", ("That'll be, That'll", "uh, That'll")),
    ],
)
def test_nobody_hesitates_inside_of_set_phrases(make: Make, text: str, odd: tuple[str, ...]) -> None:
    before = make((text, {}))
    known = corpus_of([before]).known
    for options in (Disfluency(fillers=0.2, repetitions=0.2, restarts=0.2), Disfluency(fillers=0, restarts=0.9)):
        told = [apply(options, before, known, seed=seed).dialogue.turns[0].text for seed in range(60)]
        assert len(set(told)) > 3
        assert [one for one in told for words in odd if words in one] == []
