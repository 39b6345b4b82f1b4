"""Variants of schemas: names in style, order by distance, the published order, table 1."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from troth import readers
from troth.core.errors import UserError
from troth.core.records import Intent, Schema, Service, SlotSchema
from troth.perturb.schemas.divergence import divergence
from troth.perturb.schemas.lemmas import jaccard, lemma, stop_words
from troth.perturb.schemas.renaming import Renaming
from troth.perturb.schemas.table import stats
from troth.perturb.schemas.variants import (
    ServiceWordings,
    ThereAndBack,
    Wordings,
    compose,
    corrupt_schema,
    reword_document,
    translate_schema,
)
from troth.perturb.translate import Apertium

BANK = Service(
    "Banks_2",
    "Manage bank accounts",
    (
        SlotSchema("account_type", "The type of the account", True, ("checking", "savings")),
        SlotSchema("amount", "How much"),
    ),
    (
        Intent(
            "TransferMoney", "Send money", True, ("amount",), {"account_type": "checking"}, ("amount", "account_type")
        ),
    ),
)
SCHEMA: Schema = {"Banks_2": BANK}
SAID = {
    "Banks_2": ServiceWordings(
        ("Look after your money", "Manage your bank accounts"),
        {
            "account_type": Wordings(("kind of account", "type_of_account"), ("Which account", "Type of account")),
            "amount": Wordings(("sum", "amt"), ()),
        },
        {"TransferMoney": Wordings(("send some cash", "MoveMoney"), ("Pay someone", "Send some money"))},
    )
}


@pytest.mark.parametrize(
    ("words", "same"),
    [("stops stop stopped stopping", 1), ("make making made", 1), ("city cities", 1), ("car cart", 2), ("bus", 1)],
)
def test_lemmas(words: str, same: int) -> None:
    assert len({lemma(word) for word in words.split()}) == same


def test_jaccard() -> None:
    paper, published = stop_words("paper"), stop_words("published")
    assert jaccard("The cities", "a city", paper) == 0.0
    assert jaccard("", "the", paper) == 0.0
    assert jaccard("one thing", "another matter", paper) == 1.0
    assert jaccard("Name of the song", "Song name", published) == pytest.approx(1 / 3)
    assert jaccard("Name of the song", "Song name", paper) == 0.0  # as the paper says: without stop words


def test_compose_orders_by_distance_and_everything_follows() -> None:
    one, two = compose(SCHEMA, SAID, count=2)
    bank = one["Banks_21"]
    assert bank.description == "Manage your bank accounts"
    assert [slot.name for slot in bank.slots] == ["kind_of_account", "amt"]
    assert [slot.description for slot in bank.slots] == ["Type of account", "How much"]
    assert bank.slots[0].possible_values == ("checking", "savings")
    (intent,) = bank.intents
    assert (intent.name, intent.description) == ("MoveMoney", "Send some money")
    assert intent.required_slots == ("amt",)
    assert intent.optional_slots == {bank.slots[0].name: "checking"}
    assert intent.result_slots == ("amt", bank.slots[0].name)
    assert two["Banks_22"].intents[0].name == "SendSomeCash"
    Renaming.between(SCHEMA, one)
    assert compose(SCHEMA, SAID, count=2) == [one, two]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"Bank_2": ServiceWordings()}, r"'Bank_2', which is not a service .*did you mean 'Banks_2'"),
        ({"Banks_2": ServiceWordings(slots={"amout": Wordings()})}, r"not a slot of Banks_2 \(did you mean 'amount'"),
        (
            {"Banks_2": ServiceWordings(slots={"amount": Wordings(("sum", "sum"))})},
            r"slot 'amount': names: 1 different ones for 2",
        ),
        (
            {
                "Banks_2": ServiceWordings(
                    slots={s: Wordings(("amount_type", "z" * 30)) for s in ("amount", "account_type")}
                )
            },
            r"two of v1 would be called",
        ),
    ],
)
def test_paraphrases_that_will_not_do(said: dict[str, ServiceWordings], message: str) -> None:
    with pytest.raises(UserError, match=message):
        compose(SCHEMA, said, count=2)


def test_more_paraphrases_than_wanted_are_drawn_by_seed() -> None:
    many = {"Banks_2": ServiceWordings(slots={"amount": Wordings(tuple(f"name_{letter}" for letter in "abcdefghij"))})}
    drawn = {
        tuple(v[f"Banks_2{i}"].slots[1].name for i, v in enumerate(compose(SCHEMA, many, seed=seed), 1))
        for seed in range(8)
    }
    assert len(drawn) > 1


def test_corruption_is_seeded_and_keeps_names_apart() -> None:
    def make(seed: int) -> list[Schema]:
        return compose(SCHEMA, corrupt_schema(SCHEMA, seed=seed, rate=1.0), strict=False)

    assert make(1) == make(1)
    assert make(1) != make(2)
    for variant in make(3):
        Renaming.between(SCHEMA, variant)  # refuses names that meet
    assert compose(SCHEMA, corrupt_schema(SCHEMA, rate=0.0), strict=False)[0]["Banks_21"].slots == BANK.slots


class Upside:
    """A translator for tests."""

    def __init__(self, name: str) -> None:
        self.name = name

    def there_and_back(self, texts: Sequence[str]) -> list[str]:
        return [f"{self.name} {text}" for text in texts]


def test_translation_takes_more_ways_if_more_are_wanted() -> None:
    engine = ThereAndBack([Upside("x"), Upside("y")], 4)
    assert engine.paraphrase(["a"]) == [["x a", "y a", "y x a", "x y a"]]
    made = compose(SCHEMA, translate_schema(SCHEMA, engine), count=4, strict=False)
    assert [slot.name for slot in made[0]["Banks_21"].slots] == ["x_account_type", "x_amount"]
    with pytest.raises(UserError, match="too few translation routes"):
        ThereAndBack([Upside("x")], 9)


@pytest.mark.skipif(shutil.which("apertium") is None, reason="needs apertium")
def test_apertium_keeps_texts_apart() -> None:
    known = Apertium()
    try:
        known.check_installed()
    except UserError:
        pytest.skip("needs apertium-eng-spa")
    texts = ["Time of the alarm", "", "name\n\nof the alarm", "check in date", "Where is it?"]
    made = known.there_and_back(texts)
    assert made[:3] == ["Time of the alarm", "", "name of the alarm"]
    assert len(made) == 5
    with pytest.raises(UserError, match="apt-get install apertium apertium-eng-xyz"):
        Apertium("eng-xyz").there_and_back(["a"])


def test_apertium_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(UserError, match=r"apertium is not installed .*apt-get install apertium apertium-eng-spa"):
        Apertium().there_and_back(["a"])


def test_a_schema_file_keeps_what_it_has_besides() -> None:
    raw = [{"service_name": "Banks_2", "version": 3,
            "slots": [{"name": "account_type", "unit": "x"}, {"name": "amount"}],
            "intents": [{"name": "TransferMoney", "required_slots": ["amount"]}]}]  # fmt: skip
    (one, _) = compose(SCHEMA, SAID, count=2)
    (made,) = reword_document(raw, one)
    assert (made["service_name"], made["version"]) == ("Banks_21", 3)
    assert made["slots"][0]["unit"] == "x"
    assert made["intents"] == [{"name": "MoveMoney", "required_slots": ["amt"]}]
    assert raw[0]["service_name"] == "Banks_2"


def test_table_by_hand() -> None:
    other = {"Banks_2x": Service("Banks_2x", "Manage bank accounts", (SlotSchema("ab"),), (Intent("Go"),))}
    base = {"Banks_2": Service("Banks_2", "Manage bank accounts", (SlotSchema("ab"),), (Intent("No"),))}
    train = {"T": Service("T", "", (SlotSchema("ab"), SlotSchema("z")), (Intent("No"),))}
    made = divergence(base, {"v1": other}, train=train)
    first, second = made.rows
    assert (first.slots_seen, first.intents_seen, first.distance, first.bleu) == (1.0, 1.0, None, None)
    assert (second.slots_seen, second.intents_seen, second.distance) == (1.0, 0.0, 0.25)
    assert second.bleu is not None
    assert made.self_bleu is None
    assert divergence(base, {"v1": other}).rows[0].slots_seen is None
    with pytest.raises(UserError, match="v1: the variant has 0 services"):
        divergence(base, {"v1": {}})


@pytest.mark.shared
def test_table_1_of_the_paper(shared: Path) -> None:
    """What matches the printed figures and what does not is in docs/schemas.md."""
    data = shared / "data/sgd"
    made = stats(data, *(data / f"sgd_x/data/v{i}" for i in range(1, 6)))
    assert (made.services, made.names, made.unseen_slots, made.unseen_intents) == (45, 453, 116, 28)
    original, *variants = made.rows
    assert [round(100 * (x or 0)) for x in (original.slots_seen, original.intents_seen)] == [65, 71]  # as printed
    assert [round(116 * (row.slots_seen or 0)) for row in variants] == [12, 19, 8, 5, 2]
    assert [round(28 * (row.intents_seen or 0)) for row in variants] == [0, 0, 0, 1, 1]
    assert [row.distance for row in variants] == pytest.approx([0.30, 0.42, 0.49, 0.56, 0.61], abs=0.0051)
    assert [row.bleu for row in variants] == pytest.approx([18.8, 11.3, 5.6, 2.9, 1.0], abs=0.3)
    assert made.self_bleu == pytest.approx(4.5, abs=0.1)


@pytest.mark.shared
def test_the_published_order_is_the_one_that_compose_makes(shared: Path) -> None:
    """Composed from its own paraphrases, SGD-X comes out again: all names, and most descriptions."""
    data = shared / "data/sgd"
    old = readers.schema(str(data / "test/schema.json"))
    five = [list(readers.schema(str(data / f"sgd_x/data/v{i}/test/schema.json")).values()) for i in range(1, 6)]
    said = {
        service.name: ServiceWordings(
            tuple(variant[n].description for variant in five),
            {s.name: Wordings(*_both([v[n].slots[i] for v in five])) for i, s in enumerate(service.slots)},
            {s.name: Wordings(*_both([v[n].intents[i] for v in five])) for i, s in enumerate(service.intents)},
        )
        for n, service in enumerate(old.values())
    }
    same = [0, 0]
    for made, theirs in zip(compose(old, said, stop="published"), five, strict=True):
        for ours, published in zip(made.values(), theirs, strict=True):
            assert ours.name == published.name
            for a, b in zip((*ours.slots, *ours.intents), (*published.slots, *published.intents), strict=True):
                assert isinstance(a, SlotSchema | Intent)
                assert isinstance(b, SlotSchema | Intent)
                assert a.name == b.name
                same[a.description == b.description] += 1
    assert same[1] / sum(same) > 0.85


def _both(items: Sequence[SlotSchema | Intent]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(item.name for item in items), tuple(item.description for item in items)
