"""The cache file: what is kept, for how long, and what happens to a damaged one."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.core.errors import UserError
from troth.storage import cache as module
from troth.storage import database
from troth.storage.cache import Store, key, size

Rows = list[tuple[bytes, bytes]]


def rows(first: int, end: int, length: int = 25) -> Rows:
    return [(key(str(number)), bytes([number % 256]) * length) for number in range(first, end)]


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "deep" / "scores.sqlite")


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_keys_differ_where_parts_do(one: list[str], other: list[str]) -> None:
    assert (key(*one) == key(*other)) == (one == other)


def test_keys_know_where_a_part_ends() -> None:
    assert len({key("ab", "c"), key("a", "bc"), key("abc"), key("abc", ""), key("", "abc"), key("a\ud800")}) == 6


@pytest.mark.parametrize(
    ("text", "expected"),
    [("500MB", 500_000_000), ("2 gb", 2_000_000_000), ("1.5K", 1500), ("123", 123), ("7b", 7), ("0", 0)],
)
def test_size(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "MB", "-1MB", "many", "1XB", "nan", "inf", "1e30GB"])
def test_no_size(text: str) -> None:
    with pytest.raises(UserError, match="not a size"):
        size(text)


@pytest.mark.parametrize("count", [0, 1, 499, 500, 501, 1234])
def test_what_is_put_is_got(file: str, count: int) -> None:
    Store(file).put("m", rows(0, count))
    again = Store(file)
    assert again.get([digest for digest, _ in rows(0, count + 3)]) == dict(rows(0, count))
    assert again.get([]) == {}


def test_the_first_answer_stays(file: str) -> None:
    cache = Store(file)
    cache.put("m", [(b"k", b"first")])
    cache.put("m", [(b"k", b"second"), (b"l", b"other")])
    assert cache.get([b"k", b"l"]) == {b"k": b"first", b"l": b"other"}


def test_summary(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("troth.storage.cache.time.time", lambda: 1_000_000.0)
    cache = Store(file, limit=10**6)
    cache.put("small@1", rows(0, 3))
    cache.put("large@2", rows(3, 10, 100))
    found = cache.summary()
    assert (found.file, found.answers, found.limit) == (file, 10, 10**6)
    assert [(kept.model, kept.answers) for kept in found.models] == [("large@2", 7), ("small@1", 3)]
    assert found.models[0].bytes > 700
    assert found.models[0].used == 1_000_000
    assert found.bytes >= os.path.getsize(file) > 0


def test_memory_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    cache = Store.at(None)
    cache.put("m", rows(0, 5))
    assert len(cache.get([digest for digest, _ in rows(0, 9)])) == 5
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"TROTH_CACHE": "/own"}, "/own/scores.sqlite"),
        ({"XDG_CACHE_HOME": "/xdg"}, "/xdg/troth/scores.sqlite"),
        ({"TROTH_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}, "/own/scores.sqlite"),
    ],
)
def test_the_usual_place(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TROTH_CACHE", "XDG_CACHE_HOME", "TROTH_CACHE_LIMIT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert Store.at("").path == str(Path(expected))
    assert Store.at("").limit == module.LIMIT
    monkeypatch.setenv("TROTH_CACHE_LIMIT", "3MB")
    assert Store.at("x.sqlite").limit == 3_000_000


def test_the_folder_of_linux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where it was before platformdirs said so."""
    for name in ("TROTH_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "linux")
    assert Store.at("").path == str(tmp_path / ".cache" / "troth" / "scores.sqlite")
    assert Store.at(tmp_path / "own.sqlite").path == str(tmp_path / "own.sqlite"), "a path may be a Path"


def test_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TROTH_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does without a home
    with pytest.raises(UserError, match="TROTH_CACHE"):
        Store.at("")


# -- a limit -----------------------------------------------------------------------------------------------------------


def test_trim_drops_what_was_not_used_for_longest(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000.0]
    monkeypatch.setattr("troth.storage.cache.time.time", lambda: clock[0])
    cache = Store(file)
    for age in range(4):
        cache.put("m", rows(1000 * age, 1000 * age + 1000))
        clock[0] += 10 * module.STALE
    used_again = [digest for digest, _ in rows(0, 1000)]
    cache.get(used_again)  # the oldest, but in use
    assert cache.trim(10**9) == 0
    before = cache.summary().bytes
    gone = cache.trim(before // 2)
    assert cache.summary().bytes <= before // 2
    assert 1000 < gone < 3500
    left = [len(cache.get([digest for digest, _ in rows(1000 * age, 1000 * age + 1000)])) for age in range(4)]
    assert left[0] == 1000
    assert left[1] == 0
    assert sum(left) == 4000 - gone


def test_reading_within_a_day_writes_nothing(file: str) -> None:
    cache = Store(file)
    cache.put("m", rows(0, 100))
    cache.close()
    before = Path(file).read_bytes()
    reader = Store(file)
    assert len(reader.get([digest for digest, _ in rows(0, 100)])) == 100
    reader.close()
    assert Path(file).read_bytes() == before


@pytest.mark.parametrize("to", [0, 1, 4096])
def test_trim_to_next_to_nothing_ends(file: str, to: int) -> None:
    cache = Store(file)
    cache.put("m", rows(0, 50))
    assert cache.trim(to) == 50
    assert cache.trim(to) == 0


@pytest.mark.parametrize("length", [21, 400])
def test_the_file_stays_within_its_limit(file: str, length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 200)
    cache, most, before, drops = Store(file, limit=500_000), 0, 0, []
    for first in range(0, 1_000_000 // (length + 50), 100):
        cache.put("m", rows(first, first + 100, length))
        answers = cache._with(lambda connection: connection.execute("SELECT COUNT(*) FROM answers").fetchone()[0])
        if answers < before:
            drops.append(1 - answers / (before + 100))
        before, most = answers, max(most, cache._with(pages))
    assert 350_000 < most < 650_000
    assert len(drops) >= 3
    assert all(0.15 < drop < 0.3 for drop in drops), "a fifth of them, each time"


def pages(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_count").fetchone()[0]) * 4096


def test_dropping_lets_others_in(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two chunks another process writes; and nobody drops what another has dropped already."""
    monkeypatch.setattr(module, "CHUNK", 100)
    cache, other = Store(file), Store(file)
    cache.put("m", rows(0, 2000))
    turns: list[float] = []

    def turn(seconds: float) -> None:
        turns.append(seconds)
        other.put("o", rows(9000, 9001))
        other._with(lambda connection: module._drop(connection, 100_000))

    monkeypatch.setattr("troth.storage.cache.time.sleep", turn)
    cache._with(lambda connection: module._drop(connection, 100_000))
    assert len(turns) > 5
    assert 1000 < cache.summary().answers < 1200


def test_the_limit_holds_for_many_short_runs(file: str) -> None:
    for run in range(12):
        cache = Store(file, limit=300_000)
        cache.put("m", rows(500 * run, 500 * run + 500, 100))
        cache.close()
    assert os.path.getsize(file) < 400_000


def test_clear(file: str) -> None:
    cache = Store(file)
    cache.put("m", rows(0, 2000))
    full = cache.summary().bytes
    assert cache.clear() == 2000
    assert cache.summary().answers == 0
    assert cache.summary().bytes < full / 3
    cache.put("m", rows(0, 2))
    assert cache.summary().answers == 2


def test_clear_while_another_process_writes(file: str) -> None:
    one, other = Store(file), Store(file)
    one.put("A@1", rows(0, 3))
    other.clear()
    other.put("B@1", rows(3, 5))
    one.put("A@1", rows(5, 9))
    assert {kept.model: kept.answers for kept in other.summary().models} == {"A@1": 4, "B@1": 2}


# -- other processes ---------------------------------------------------------------------------------------------------


def test_another_process_makes_the_file_meanwhile(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def late(part: str, place: str) -> None:
        monkeypatch.setattr(os, "link", link)
        Store(file).put("m", rows(0, 3))
        link(part, place)

    monkeypatch.setattr(os, "link", late)
    cache = Store(file)
    cache.put("n", rows(3, 6))
    assert cache.get([digest for digest, _ in rows(0, 9)]) == dict(rows(0, 6))
    assert not list(Path(file).parent.glob(".troth-*"))


@pytest.mark.parametrize("before", ["open_database", "folder_lock"])
def test_another_process_renews_the_file_meanwhile(
    tmp_path: Path, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a file of an older layout is opened, or between that and its renaming: the new file stays."""
    file = str(tmp_path / "scores.sqlite")
    older(file)
    monkeypatch.setattr(database, "OPENING", 0.0)
    real, calls = getattr(database, before), list[str]()

    def renewed(path: str) -> Any:
        calls.append(path)
        if len(calls) == (1 if before == "open_database" else 2):
            monkeypatch.setattr(database, before, real)
            Store(file).put("m", rows(0, 3))
        return real(path)

    monkeypatch.setattr(database, before, renewed)
    cache = Store(file)
    assert cache.get([digest for digest, _ in rows(0, 9)]) == dict(rows(0, 3))
    assert len(list(tmp_path.glob("*.corrupt-*"))) == 1


def test_two_stores_of_one_process_keep_their_file_when_another_process_ends(file: str) -> None:
    """A descriptor that is closed gives up the locks of all of a process's connections; nothing may be lost by that."""
    first, second = Store(file), Store(file)
    first.put("model", [(b"1", b"one")])
    assert second.get([b"1"]) == {b"1": b"one"}
    script = "import sys; from troth.storage.cache import Store; Store(sys.argv[1]).put('model', [(b'2', b'two')])"
    subprocess.run([sys.executable, "-c", script, file], check=True)
    first.put("model", [(b"3", b"three")])
    second.put("model", [(b"4", b"four")])
    look = "import sys; from troth.storage.cache import Store; print(*sorted(Store(sys.argv[1]).get([b'3', b'4'])))"
    done = subprocess.run([sys.executable, "-c", look, file], check=True, capture_output=True, text=True)
    assert done.stdout == "b'3' b'4'\n"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs Linux's list of open files")
def test_no_file_stays_open(file: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing of ours")
    before = len(os.listdir("/proc/self/fd"))
    stores = [Store(file) for _ in range(3)]
    for store in stores:
        store.put("model", [(b"1", b"one")])
    for store in stores:
        store.close()
    with pytest.raises(UserError):
        Store(str(tmp_path / "notes.txt")).get([b"1"])
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_what_a_forked_process_keeps_stays(file: str) -> None:
    """Though its parent closes the file while the child has it open, and a third one opens it."""
    cache = Store(file)
    cache.put("m", rows(0, 10))
    to_child, to_parent = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        try:
            cache.get([b"x"])
            os.write(to_parent[1], b".")
            os.read(to_child[0], 1)
            cache.put("m", rows(10, 400))
            os._exit(0)
        finally:
            os._exit(1)
    os.read(to_parent[0], 1)
    cache.close()
    third = Store(file)
    third.put("m", rows(400, 410))
    os.write(to_child[1], b".")
    assert os.waitpid(child, 0)[1] == 0
    third.put("m", rows(410, 420))
    third.close()
    for end in (*to_child, *to_parent):
        os.close(end)
    assert Store(file).summary().answers == 420


@pytest.mark.skipif(not hasattr(os, "fork"), reason="nothing forks here")
def test_memory_outlives_a_fork() -> None:
    cache = Store.at(None)
    cache.put("m", rows(0, 5))
    child = os.fork()
    if not child:
        os._exit(len(cache.get([digest for digest, _ in rows(0, 9)])))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 5
    assert cache.summary().answers == 5


# -- damage ------------------------------------------------------------------------------------------------------------


def filled(file: str) -> None:
    cache = Store(file)
    cache.put("m", rows(0, 3000))
    cache.close()


@pytest.mark.parametrize("damage", ["header", "middle", "short"])
def test_a_damaged_file_is_kept_beside_a_fresh_one(
    file: str, damage: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the usual place, whatever is left of it."""
    monkeypatch.setenv("TROTH_CACHE", str(Path(file).parent))
    filled(file)
    whole = Path(file).read_bytes()
    spoilt = {
        "header": b"not a database at all" * 1000,
        "middle": whole[:4096] + b"\xa5" * (len(whole) - 4096),
        "short": whole[: len(whole) // 2],
    }[damage]
    Path(file).write_bytes(spoilt)
    cache = Store(file)
    assert cache.get([digest for digest, _ in rows(0, 3000)]) == {}
    cache.put("m", rows(0, 10))
    assert len(cache.get([digest for digest, _ in rows(0, 10)])) == 10
    (aside,) = Path(file).parent.glob("*.corrupt-*")
    assert aside.read_bytes() == spoilt
    told = capsys.readouterr().err
    assert told == f"troth: {file}: the cache is damaged; a new one is started, the old one is kept as {aside}\n"


def test_a_file_that_another_process_has_mended_is_left_alone(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Two stores have the damaged file open; the first puts it aside, the second must not do that to the new one."""
    filled(file)
    late = Store(file)
    assert late.get([b"x"]) == {}
    whole = Path(file).read_bytes()
    with open(file, "r+b") as spoilt:
        spoilt.seek(4096)
        spoilt.write(b"\xa5" * (len(whole) - 4096))
    keys = [digest for digest, _ in rows(0, 3000)]
    first = Store(file)
    assert first.get(keys) == {}
    first.put("m", rows(0, 10))
    assert len(late.get(keys)) == 10
    assert len(list(Path(file).parent.glob("*.corrupt-*[0-9]"))) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_answers_do_not_go_into_the_file_that_was_put_aside(file: str) -> None:
    filled(file)
    one = Store(file)
    one.put("m", rows(3000, 3001))
    os.replace(file, f"{file}.corrupt-by-another")
    one.put("m", rows(3001, 3401))
    assert Store(file).summary().answers == 400


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET value = x'00'",
        "UPDATE answers SET value = x''",
        "UPDATE answers SET value = (SELECT value FROM answers ORDER BY key LIMIT 1)",
        "DROP TABLE answers",
    ],
)
def test_a_garbled_answer_is_none(file: str, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute(damage)
    connection.close()
    cache = Store(file)
    assert cache.get([digest for digest, _ in rows(0, 3000)]) == {}
    assert "the cache is damaged" in capsys.readouterr().err
    cache.put("m", rows(0, 10))
    assert len(cache.get([digest for digest, _ in rows(0, 10)])) == 10


def older(file: str) -> None:
    Path(file).parent.mkdir(exist_ok=True)
    with sqlite3.connect(file) as connection:
        connection.executescript(
            "CREATE TABLE models (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
            "CREATE TABLE answers (key BLOB PRIMARY KEY, model INTEGER, used INTEGER, value BLOB) WITHOUT ROWID;"
            "INSERT INTO answers VALUES (x'00', 1, 1, x'00');"
            "PRAGMA user_version = 1;"
        )
        connection.execute(f"PRAGMA application_id = {database.APPLICATION}")
    connection.close()


def test_an_older_layout_is_begun_anew(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    older(file)
    cache = Store(file)
    assert cache.get([b"\0"]) == {}
    cache.put("m", rows(0, 10))
    assert cache.summary().answers == 10
    assert "the cache is of an older version; a new one is started" in capsys.readouterr().err


def test_a_file_of_another_program_is_not_touched(tmp_path: Path) -> None:
    file = str(tmp_path / "other.sqlite")
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE things (name TEXT)")
    connection.close()
    before = Path(file).read_bytes()
    with pytest.raises(UserError, match="another program"):
        Store(file).get([b"x"])
    assert Path(file).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["other.sqlite"]


@pytest.mark.parametrize("content", [b"", b"my notes\n", b"x" * 5000, b"SQLite format 3\0" + bytes(4080)])
def test_a_file_that_is_no_cache_is_not_touched(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes(content)
    for use in (lambda cache: cache.get([b"x"]), Store.summary, Store.clear, lambda cache: cache.put("m", rows(0, 3))):
        with pytest.raises(UserError, match=r"notes\.txt: is (not a cache of troth|a database of another program)"):
            use(Store(str(file)))
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_looking_makes_no_file(file: str) -> None:
    assert Store(file).summary().answers == 0
    assert not Path(file).parent.exists()


@pytest.mark.parametrize("at", [0, 18, 60, 68, 71, 100, 105])
def test_a_damaged_header_of_ours(file: str, at: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The tables that the first page defines tell that the file is ours, wherever it lies."""
    filled(file)
    with open(file, "r+b") as spoilt:
        spoilt.seek(at)
        spoilt.write(b"\xff")
    with_new = Store(file)
    with_new.put("m", rows(0, 10))
    assert with_new.get([digest for digest, _ in rows(0, 10)]) == dict(rows(0, 10))
    assert capsys.readouterr().err.count("\n") <= 1


@pytest.mark.parametrize("seed", range(40))
def test_damage_of_any_kind(file: str, seed: int) -> None:
    """No traceback, no wrong answer, and the cache works again."""
    filled_small(file)
    data, random = bytearray(Path(file).read_bytes()), Random(seed)
    for _ in range(1 + seed % 40):
        begin, length = random.randrange(len(data)), 1 + seed // 10 * 50
        data[begin : begin + length] = random.randbytes(length)
    Path(file).write_bytes(data[: random.randrange(4096, len(data)) if seed % 7 == 0 else None])
    cache = Store(file, limit=30_000)
    answers = dict(rows(0, 300))
    assert cache.get(list(answers)).items() <= answers.items()
    cache.put("other", rows(300, 400))
    cache.summary()
    cache.put("m", rows(0, 300))
    assert cache.get(list(answers)).items() <= answers.items()


def filled_small(file: str) -> None:
    cache = Store(file)
    cache.put("m", rows(0, 300))
    cache.close()


@pytest.fixture
def read_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is mounted read-only, where even root cannot write."""
    monkeypatch.setattr("troth.storage.database.os.access", lambda *_: False)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("troth.storage.cache.os.replace", refuse)


def test_a_read_only_cache_is_read(
    file: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(file)
    before = Path(file).read_bytes()
    request.getfixturevalue("read_only")
    cache = Store(file)
    assert cache.get([digest for digest, _ in rows(0, 9)]) == dict(rows(0, 9))
    cache.put("m", rows(5000, 5010))
    assert cache.summary().answers == 3000
    with pytest.raises(UserError, match="the cache is read-only"):
        cache.clear()
    assert Path(file).read_bytes() == before
    assert [path.name for path in Path(file).parent.iterdir()] == ["scores.sqlite"]
    assert capsys.readouterr().err == f"troth: {file}: the cache is read-only: new answers are not kept\n"


def test_a_read_only_cache_that_is_damaged(
    file: str, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(file)
    with open(file, "r+b") as spoilt:
        spoilt.seek(4096)
        spoilt.write(b"\xa5" * 100_000)
    request.getfixturevalue("read_only")
    cache = Store(file)
    assert cache.get([digest for digest, _ in rows(0, 3000)]) == {}
    cache.put("m", rows(0, 3))
    assert len(cache.get([digest for digest, _ in rows(0, 3000)])) == 3
    assert "damaged and read-only: it is not used" in capsys.readouterr().err


def test_a_newer_layout_is_not_touched(file: str) -> None:
    filled(file)
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserError, match="newer troth"):
        Store(file).get([b"x"])


@pytest.mark.parametrize("place", ["folder", "beneath a file"])
def test_no_cache_can_be_there(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    path = {"folder": tmp_path, "beneath a file": tmp_path / "file" / "scores.sqlite"}[place]
    with pytest.raises(UserError, match="another cache file, or disable the cache"):
        Store(str(path)).get([b"x"])


def test_a_limit_that_is_none_names_the_variable(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_CACHE_LIMIT", "abc")
    with pytest.raises(UserError, match="TROTH_CACHE_LIMIT: 'abc' is not a size"):
        Store.at(file)
