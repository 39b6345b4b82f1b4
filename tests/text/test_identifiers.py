"""Identifiers: their words, their style, and new ones in the same style."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.text.identifiers import (
    IDENTIFIER,
    MAX_LENGTH,
    humanize,
    make_identifier,
    make_unique,
    naming_style,
    prefix,
    split_identifier,
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", []),
        ("amount", ["amount"]),
        ("number_of_seats", ["number", "of", "seats"]),
        ("get-user-details", ["get", "user", "details"]),
        ("getUserDetails", ["get", "user", "details"]),
        ("FindHomeByArea", ["find", "home", "by", "area"]),
        ("parseHTTPHeader", ["parse", "HTTP", "header"]),
        ("getHTTP2Server", ["get", "HTTP2", "server"]),
        ("MP3player", ["MP3", "player"]),
        ("hotel_2", ["hotel", "2"]),
        ("address.cityName", ["city", "name"]),
        ("mcp__calendar__create_event", ["create", "event"]),
        ("größeWert", ["größewert"]),
    ],
)
def test_words_of_an_identifier(name: str, words: list[str]) -> None:
    assert split_identifier(name) == words


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kids_friendly", "kids friendly"),
        ("ReserveRestaurant", "Reserve Restaurant"),
        ("rideType2", "ride Type2"),
        ("", ""),
    ],
)
def test_humanized_names_keep_their_case(name: str, words: str) -> None:
    assert humanize(name) == words


@pytest.mark.parametrize(
    ("name", "style"),
    [
        ("city", "snake"),
        ("_a_b", "snake"),
        ("get-ride", "kebab"),
        ("GetRide", "pascal"),
        ("getRide", "camel"),
        ("x.aB", "camel"),
    ],
)
def test_styles(name: str, style: str) -> None:
    assert naming_style(name) == style


@pytest.mark.parametrize(
    ("name", "taken", "expected"),
    [("a_b", (), "a_b"), ("a_b", ("a_b",), "a_b_2"), ("aB", ("aB", "aB2"), "aB3"), ("a-b", ("a-b",), "a-b-2")],
)
def test_unique_names(name: str, taken: tuple[str, ...], expected: str) -> None:
    assert make_unique(name, taken) == expected


@pytest.mark.parametrize(
    ("text", "like", "expected"),
    [
        ("recipient account name", "amount", "recipient_account_name"),
        ("recipient account name", "GetRide", "RecipientAccountName"),
        ("recipient account name", "getRide", "recipientAccountName"),
        ("recipient account name", "get-ride", "recipient-account-name"),
        ("num_of_seats", "seats", "num_of_seats"),
        ("FindHomeByArea", "FindHome", "FindHomeByArea"),
        ("Look-up café's menu!", "menu", "look_up_cafes_menu"),
        ("town", "address.city", "address.town"),
        ("make event", "mcp__calendar__create", "mcp__calendar__make_event"),
        ("2 seats", "seats", "seats"),
        ("日本", "amount", ""),
        ("word " * 40, "a", "_".join(["word"] * 13)),
    ],
)
def test_names_in_style(text: str, like: str, expected: str) -> None:
    assert make_identifier(text, like) == expected


@given(st.text(max_size=30), st.sampled_from(["snake_case", "Pascal", "camelCase", "ke-bab", "a.b", "x__y"]))
def test_names_are_identifiers_or_nothing(text: str, like: str) -> None:
    name = make_identifier(text, like)
    assert name == "" or IDENTIFIER.fullmatch(name.removeprefix(prefix(like)))
    assert len(name) <= MAX_LENGTH + len(prefix(like))
