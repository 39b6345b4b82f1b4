"""Templates: what the files may hold, which one an act takes, how a turn is put together."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from troth import demo, readers
from troth.core.errors import UserError
from troth.core.records import Act, Frame, ServiceCall, Turn
from troth.responses import templates

FILE = """\
REQ_MORE\tAnything else?
INFORM!!stars!!@\tIt has @ stars.
INFORM!!has_wifi!!True\tThere is wifi.
INFORM!!has_wifi!!dontcare\tYou do not mind wifi.
OFFER!!name!!@\tHow about @?
OFFER!!name!!@@\tHow about @ or @?
CONFIRM!!name!!@\tYou want @.
CONFIRM!!nights!!@\tYou stay @ nights.
REQUEST!!city\tWhich city?
REQUEST!!city!!@\tIs it @?
INFORM_COUNT!!FindHotel!!count!!@\tI found @.
NOTIFY_SUCCESS!!BookHotel\tBooked.
OFFER_INTENT!!BookHotel\tShall I book?

REQ_MORE\tIs there anything else?
"""
CALL = ServiceCall("FindHotel")


@pytest.fixture
def known(tmp_path: Path) -> templates.Templates:
    (tmp_path / "Hotels_1.tsv").write_text(FILE)
    return templates.read(str(tmp_path))


@pytest.mark.parametrize(
    ("act", "call", "key", "text"),
    [
        (Act("REQ_MORE"), None, "REQ_MORE", "Is there anything else?"),  # the last of two
        (Act("INFORM", "stars", ("4",)), None, "INFORM!!stars!!@", "It has 4 stars."),
        (Act("INFORM", "has_wifi", ("True",)), None, "INFORM!!has_wifi!!True", "There is wifi."),
        (Act("INFORM", "has_wifi", ("False",)), None, "INFORM!!has_wifi!!False", None),
        (Act("INFORM", "has_wifi", ("dontcare",)), None, "INFORM!!has_wifi!!dontcare", "You do not mind wifi."),
        (Act("OFFER", "name", ("A@B",)), None, "OFFER!!name!!@", "How about A@B?"),
        (Act("OFFER", "name", ("A", "B")), None, "OFFER!!name!!@@", "How about A or B?"),
        (Act("OFFER", "name", ("A", "B", "C")), None, "OFFER!!name!!@@@", None),
        (Act("REQUEST", "city"), None, "REQUEST!!city", "Which city?"),
        (Act("REQUEST", "city", ("Leeds",)), None, "REQUEST!!city!!@", "Is it Leeds?"),
        (Act("INFORM_COUNT", "count", ("3",)), CALL, "INFORM_COUNT!!FindHotel!!count!!@", "I found 3."),
        (Act("INFORM_COUNT", "count", ("3",)), None, "INFORM_COUNT!!count!!@", None),
        (Act("INFORM_COUNT", "count"), CALL, "INFORM_COUNT!!FindHotel!!count", None),
        (Act("NOTIFY_SUCCESS"), ServiceCall("BookHotel"), "NOTIFY_SUCCESS!!BookHotel", "Booked."),
        (Act("NOTIFY_SUCCESS"), CALL, "NOTIFY_SUCCESS!!FindHotel", None),
        (Act("OFFER_INTENT", "intent", ("BookHotel",)), CALL, "OFFER_INTENT!!BookHotel", "Shall I book?"),
    ],
)
def test_an_act_takes_its_template(
    known: templates.Templates, act: Act, call: ServiceCall | None, key: str, text: str | None
) -> None:
    frame = Frame("Hotels_1", acts=(act,), service_call=call)
    (sentence,) = templates.render_frame(frame, known)
    assert (sentence.key, sentence.text) == (key, text)


def test_a_turn_is_said_in_the_authors_order(known: templates.Templates) -> None:
    acts = (Act("REQ_MORE"), Act("OFFER", "name", ("Ritz",)), Act("REQUEST", "city"), Act("INFORM", "stars", ("4",)),
            Act("INFORM_COUNT", "count", ("3",)))  # fmt: skip
    turn = Turn("SYSTEM", frames=(Frame("Hotels_1", acts=acts, service_call=CALL),))
    text, lacking = templates.render_turn(turn, known)
    assert text == "I found 3. It has 4 stars. Which city? Is there anything else? How about Ritz?"
    assert not lacking


def test_confirming_begins_with_a_phrase(known: templates.Templates) -> None:
    acts = (Act("CONFIRM", "nights", ("2",)), Act("CONFIRM", "name", ("Ritz",)))
    both = (Frame("Hotels_1", acts=acts), Frame("Hotels_2", acts=acts))
    text, lacking = templates.render_turn(Turn("SYSTEM", frames=both), known)
    assert text == "Please confirm the following details: You stay 2 nights. You want Ritz."
    assert [(one.service, one.key) for one in lacking] == [
        ("Hotels_2", "CONFIRM!!nights!!@"),
        ("Hotels_2", "CONFIRM!!name!!@"),
    ]
    assert templates.nearest_name("Hotels_2", "CONFIRM!!name!!@", known) == "did you mean 'Hotels_1'?"


def test_nothing_is_to_be_confirmed_where_no_confirmation_has_a_template(known: templates.Templates) -> None:
    frame = Frame("Hotels_1", acts=(Act("CONFIRM", "city", ("Leeds",)), Act("REQUEST", "city")))
    assert templates.render_turn(Turn("SYSTEM", frames=(frame,)), known).text == "Which city?"


def test_a_fingerprint_tells_templates_apart(known: templates.Templates) -> None:
    other = {"Hotels_1": dict(reversed(known["Hotels_1"].items()))}
    assert templates.fingerprint(other) == templates.fingerprint(known)
    other["Hotels_1"]["REQ_MORE"] = "More?"
    assert templates.fingerprint(other) != templates.fingerprint(known)


def test_what_has_no_template_is_left_out_and_told(known: templates.Templates) -> None:
    frame = Frame("Hotels_1", acts=(Act("INFORM", "star", ("4",)), Act("REQ_MORE")))
    text, lacking = templates.render_turn(Turn("SYSTEM", frames=(frame,)), known)
    assert text == "Is there anything else?"
    assert [one.key for one in lacking] == ["INFORM!!star!!@"]
    assert templates.nearest_name("Hotels_1", lacking[0].key, known) == "did you mean 'INFORM!!stars!!@'?"
    assert templates.render_turn(Turn("SYSTEM"), known) == ("", ())


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("OFFER!!name!!@ How about @?", "line 2: is not a key, a tab and a text"),
        ("OFFER!!name!!@\t", "line 2: is not a key, a tab and a text"),
        ("OFFER!!name!!@\tHow about\t@?", "line 2: is not a key, a tab and a text"),
        ("OFFER!!name!!@@\tHow about @?", "line 2: 2 @ in the key and 1 in the text"),
        ("GOODBYE\tWrite to us @ home.", "line 2: 0 @ in the key and 1 in the text"),
    ],
)
def test_bad_lines(tmp_path: Path, line: str, told: str) -> None:
    (tmp_path / "Hotels_1.tsv").write_text(f"REQ_MORE\tMore?\n{line}\n")
    with pytest.raises(UserError) as error:
        templates.read(str(tmp_path))
    assert str(error.value) == f"{tmp_path}/Hotels_1.tsv: {told} (see docs/formats.md, templates)"


def test_bad_folders(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such folder"):
        templates.read(str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=r"no \.tsv file in this folder"):
        templates.read(str(tmp_path))
    (tmp_path / "A.tsv").write_bytes(b"GOODBYE\t\xff\n")
    with pytest.raises(UserError, match="not valid UTF-8"):
        templates.read(str(tmp_path))


def test_bundled_templates_have_words_for_every_act() -> None:
    known = templates.read(demo.path("templates"))
    turns = [turn for d in readers.gold(demo.path("gold")) for turn in d.turns if turn.speaker == "SYSTEM"]
    assert list(known) == ["Sights_1", "Stays_1", "Trains_1"]
    assert all(text and not lacking for text, lacking in (templates.render_turn(turn, known) for turn in turns))


@pytest.mark.shared
def test_t2g2s_templates_give_what_the_authors_generator_gives(shared: Path) -> None:
    """The digest is of what their procedure writes, transcribed from `generation/utterance_generator.py` of
    google-research/task-oriented-dialogue."""
    known = templates.read(str(shared / "data/t2g2/utterance_templates"))
    assert len(known) == 46
    made = [
        templates.render_turn(turn, known)
        for d in readers.gold(str(shared / "data/sgd/dev/dialogues_001.json"))
        for turn in d.turns
        if turn.speaker == "SYSTEM"
    ]
    assert len(made) == 825
    assert not any(one.lacking for one in made)
    assert (
        hashlib.sha256("".join(f"{one.text}\n" for one in made).encode())
        .hexdigest()
        .startswith("f9c41de624e266f4a2a30dc6")
    )


# -- whole files -------------------------------------------------------------------------------------------------------

GOLD, DIR = demo.path("gold"), demo.path("templates")


def test_a_response_for_every_turn(tmp_path: Path) -> None:
    done = templates.respond(GOLD, DIR, str(tmp_path / "r.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "r.jsonl").read_text().splitlines()]
    assert (done.responses, done.partial, done.silent, done.lacking) == (len(rows), 0, 0, [])
    assert rows[0] == {
        "dialogue": "figure_1",
        "turn": 1,
        "response": "There are 11 places to see. Which part of town should I look in?",
    }
    assert done.acts == sum(
        len(f.acts) for d in readers.gold(GOLD) for t in d.turns if t.speaker == "SYSTEM" for f in t.frames
    )


def test_acts_without_a_template_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "Stays_1.tsv").write_text("OFFER!!hotel_name!!@\tHow about @?\nINFORM!!star!!@\t@ stars.\n")
    done = templates.respond(GOLD, str(tmp_path / "t"), str(tmp_path / "r.jsonl"))
    assert done.responses == 21
    assert done.partial + done.silent == 177
    assert sum(one.acts for one in done.lacking) == done.acts - 21
    assert [one.acts for one in done.lacking] == sorted((one.acts for one in done.lacking), reverse=True)
    hints = {one.key: one.hint for one in done.lacking if one.service == "Stays_1"}
    assert hints["INFORM!!stars!!@"] == "did you mean 'INFORM!!star!!@'?"


def test_nothing_is_written_where_no_template_fits(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "Banks_1.tsv").write_text("GOODBYE\tBye.\n")
    with pytest.raises(UserError, match="no act of its system turns has a template"):
        templates.respond(GOLD, str(tmp_path / "t"), str(tmp_path / "r.jsonl"))
    assert [file.name for file in tmp_path.iterdir()] == ["t"]
