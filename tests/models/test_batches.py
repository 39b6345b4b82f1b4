"""Batches: every item once, like lengths together, answers where the questions were."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.models.batches import (
    Room,
    batch_by_length,
    compute_batched,
    pad_rows,
    plan_batches,
    replace_surrogates,
    tensors,
)


@pytest.mark.parametrize(
    ("lengths", "room", "expected"),
    [
        ([], Room(4, 100), []),
        ([5], Room(4, 100), [[0]]),
        ([1, 9, 5], Room(4, 100), [[1, 2, 0]]),
        ([1, 9, 5], Room(2, 100), [[1, 2], [0]]),
        ([10, 10, 10], Room(9, 20), [[0, 1], [2]]),
        ([500, 1], Room(9, 20), [[0], [1]]),  # too long for any batch: alone
        ([3, 3, 3], Room(1, 100), [[0], [1], [2]]),
        ([8, 5, 9, 4], Room(4, 100, least=0.7), [[2, 0], [1, 3]]),  # 5 beside 9 is mostly padding
    ],
)
def test_planned(lengths: list[int], room: Room, expected: list[list[int]]) -> None:
    assert list(plan_batches(lengths, room)) == expected


@given(st.lists(st.integers(1, 50)), st.integers(1, 6), st.integers(1, 120))
def test_every_item_has_one_place(lengths: list[int], items: int, units: int) -> None:
    batches = list(plan_batches(lengths, Room(items, units)))
    assert sorted(index for batch in batches for index in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= items
        assert len(batch) == 1 or max(lengths[i] for i in batch) * len(batch) <= units
    longest = [max(lengths[i] for i in batch) for batch in batches]
    assert longest == sorted(longest, reverse=True)


@given(st.lists(st.text(max_size=5)), st.integers(1, 4))
def test_answers_stand_where_the_questions_did(items: list[str], most: int) -> None:
    computed: list[str] = []
    seen: list[tuple[int, int]] = []

    def compute(batch: list[str]) -> list[str]:
        computed.extend(batch)
        return [text.upper() for text in batch]

    out = compute_batched(
        items,
        compute,
        lambda asked: batch_by_length([len(text) for text in asked], Room(most, 100)),
        lambda done, total: seen.append((done, total)),
    )
    assert out == [text.upper() for text in items]
    assert sorted(computed) == sorted(set(items)), "each distinct one once"
    total = sum(map(len, set(items)))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert not seen or seen[-1] == (total, total)


def test_a_wrong_number_of_answers_is_an_error() -> None:
    with pytest.raises(ValueError, match="zip"):
        compute_batched(["a", "b"], lambda _: ["x"], lambda asked: batch_by_length([1] * len(asked), Room(8, 8)))


@pytest.mark.parametrize(
    ("rows", "left", "ids", "mask"),
    [
        ([], False, [], []),
        ([[1, 2]], False, [[1, 2]], [[1, 1]]),
        ([[1, 2], [3]], False, [[1, 2], [3, 9]], [[1, 1], [1, 0]]),
        ([[1, 2], [3]], True, [[1, 2], [9, 3]], [[1, 1], [0, 1]]),
        ([[1, 2], []], True, [[1, 2], [9, 9]], [[1, 1], [0, 0]]),
    ],
)
def test_padded(rows: list[list[int]], left: bool, ids: list[list[int]], mask: list[list[int]]) -> None:
    made = pad_rows(rows, 9, left=left)
    assert (made.ids.tolist(), made.mask.tolist()) == (ids, mask)


def test_tensors_pad_tokens_with_the_padding_token_and_the_rest_with_zero() -> None:
    rows = [{"input_ids": [5, 6], "attention_mask": [1, 1]}, {"input_ids": [7], "attention_mask": [1]}]
    made = {name: column.tolist() for name, column in tensors(rows, 9).items()}
    assert made == {"input_ids": [[5, 6], [7, 9]], "attention_mask": [[1, 1], [1, 0]]}
    assert tensors(rows, None)["input_ids"].tolist() == [[5, 6], [7, 0]]


@pytest.mark.parametrize(("text", "expected"), [("plain", "plain"), ("é😀", "é😀"), ("a\ud800b", "a?b")])
def test_encodable(text: str, expected: str) -> None:
    assert replace_surrogates(text) == expected
    assert len(replace_surrogates(text)) == len(text), "offsets stay"
