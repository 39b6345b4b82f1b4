"""Models' answers on disk: one SQLite file in WAL mode, for any number of processes at once.

A row is (key, model, last used, answer). The key is a digest of everything that changes the answer; the file holds no
text of any dialogue. Answers are committed before anyone sees them, so a killed process loses nothing but its current
batch. When the file grows beyond its limit, the least recently used answers are dropped first. Each answer carries a
digest of its key and itself: what a disk has garbled is not taken for an answer.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from troth.core.errors import UserError
from troth.core.names import Path as AnyPath
from troth.core.names import path_of
from troth.core.options import size as size  # noqa: PLC0414 (part of this module, too)
from troth.core.progress import note
from troth.storage import database, places
from troth.storage.database import HINT, MEMORY, SIZE, DamagedError, transaction

T = TypeVar("T")

USUAL = ""  # stands for the cache at its usual place, see `places.scores`
LIMIT = 2_000_000_000  # bytes, unless TROTH_CACHE_LIMIT says otherwise
ROOM = 0.8  # a file over its limit is trimmed to this share of it
CHUNK = 5_000  # rows deleted at a time; other processes get their turn in between
TURN = 0.005  # seconds of such a turn
STALE = 24 * 3600  # seconds; a row's last use is known to this precision, so that reading hardly ever writes
AT_ONCE = 500  # keys in a SELECT
ATTEMPTS = 5  # at work on a file that others put aside meanwhile
SEAL = 4  # bytes of an answer's digest

FIND = "SELECT key, value, used FROM answers WHERE key IN (" + ",".join("?" * AT_ONCE) + ")"  # noqa: S608 (nothing but marks)
OLDEST = (
    "DELETE FROM answers WHERE key IN (SELECT key FROM "  # noqa: S608
    f"(SELECT key, bytes, SUM(bytes) OVER (ORDER BY used, key) AS so_far FROM (SELECT used, key, {SIZE.format('')} AS "
    "bytes FROM answers ORDER BY used, key LIMIT ?)) WHERE so_far - bytes < ?)"
)
BY_MODEL = (
    f"SELECT name, COUNT(*), SUM({SIZE.format('')}), MAX(used) FROM answers JOIN models ON model = id "  # noqa: S608
    "GROUP BY name ORDER BY COUNT(*) DESC, name"
)


class ModelAnswers(NamedTuple):
    """What the cache holds of one model."""

    model: str
    answers: int
    bytes: int
    used: int  # seconds since the epoch, of the last use


class CacheSummary(NamedTuple):
    """What the cache holds."""

    file: str
    bytes: int  # on disk
    answers: int
    limit: int
    models: tuple[ModelAnswers, ...]


def key(*parts: str) -> bytes:
    """A digest of the parts; their lengths are in it, so ("ab", "c") and ("a", "bc") differ."""
    data = [part.encode("utf-8", "surrogatepass") for part in parts]
    lengths = b"".join(len(part).to_bytes(8, "little") for part in data)
    return blake2b(len(data).to_bytes(8, "little") + lengths + b"".join(data), digest_size=16).digest()


_FILES = threading.RLock()  # held while a connection is opened or closed, after the store's own lock


class Store:
    """The file of answers. It is opened on first use, and again after a fork: no process may inherit a connection."""

    def __init__(self, path: str, *, limit: int = LIMIT) -> None:
        self.path, self.limit = path, limit
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._writable = True
        self._file: tuple[int, int] | None = None  # which file the connection has, whatever the path names by now
        self._models: dict[str, int] = {}
        _STORES.add(self)

    def __del__(self) -> None:
        self.close()

    @classmethod
    def at(cls, cache: AnyPath | None) -> Store:
        """The store in a file, at the usual place (""), or in this process's memory alone (None)."""
        path = MEMORY if cache is None else path_of(cache) or str(places.scores())
        own = os.environ.get("TROTH_CACHE_LIMIT")
        return cls(path, limit=size(own) if own else LIMIT)

    def get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The answers that the store has for these keys."""
        distinct = list(dict.fromkeys(keys))
        return self._with(lambda connection: self._get(connection, distinct)) if distinct else {}

    def _get(self, connection: sqlite3.Connection, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        answers, stale = _select(connection, keys)
        if stale and self._writable:
            with transaction(connection):
                connection.executemany("UPDATE answers SET used = ? WHERE key = ?", stale)
        return answers

    def put(self, model: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Stores answers; on return they are in the file, if it can be written. An earlier answer of a key stays."""
        self._with(lambda connection: self._put(connection, model, rows))

    def _put(self, connection: sqlite3.Connection, model: str, rows: Sequence[tuple[bytes, bytes]]) -> None:
        if not self._writable:
            return
        now = int(time.time())
        with transaction(connection):
            if model not in self._models:
                connection.execute("INSERT OR IGNORE INTO models (name) VALUES (?)", (model,))
                row = connection.execute("SELECT id FROM models WHERE name = ?", (model,)).fetchone()
                self._models[model] = int(row[0])
            number = self._models[model]
            connection.executemany(
                "INSERT OR IGNORE INTO answers (key, model, used, value) VALUES (?, ?, ?, ?)",
                [(key, number, now, _seal(key, value) + value) for key, value in rows],
            )
        if _held(connection) > self.limit:
            _drop(connection, int(ROOM * self.limit))

    def summary(self) -> CacheSummary:
        """What the file holds, model by model. It is not made for that."""
        if self.path != MEMORY and not os.path.lexists(self.path):
            return CacheSummary(self.path, 0, 0, self.limit, ())
        models = tuple(ModelAnswers(*row) for row in self._with(lambda one: one.execute(BY_MODEL).fetchall()))
        return CacheSummary(self.path, self._bytes(), sum(one.answers for one in models), self.limit, models)

    def trim(self, to: int) -> int:
        """Drops the least recently used answers until the file has at most `to` bytes; returns how many."""
        return self._with(lambda connection: self._trim(connection, to), writes=True)

    def _trim(self, connection: sqlite3.Connection, to: int) -> int:
        total = 0
        while True:
            _compact(connection)
            if (size := self._bytes()) <= to:
                return total
            # A compact file's size is in proportion to its rows; two percent more, so that one round is enough.
            dropped = _drop(connection, int(_held(connection) * (1 - min(1.0, 1.02 * (1 - to / size)))))
            if not dropped:
                return total
            total += dropped

    def clear(self) -> int:
        """Drops all answers; returns how many. Model numbers stay: other processes may be about to use them."""

        def work(connection: sqlite3.Connection) -> int:
            with transaction(connection):
                (count,) = connection.execute("SELECT COUNT(*) FROM answers").fetchone()
                database.create(connection)
            _compact(connection)
            return int(count)

        return self._with(work, writes=True)

    def close(self) -> None:
        with self._lock, _FILES:
            if self._connection is None:
                return
            self._connection.close()
            self._connection = None
            self._let_go()

    def _let_go(self) -> None:
        if not any(one._connection is not None and one._file == self._file for one in list(_STORES)):
            database.let_go(self._file)

    # -- the file ------------------------------------------------------------------------------------------------------

    def _with(self, work: Callable[[sqlite3.Connection], T], *, writes: bool = False) -> T:
        """Does something with the connection. A damaged file is put aside, with a note, and a new one begun."""
        with self._lock:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    connection = self._opened()
                    if writes and not self._writable:
                        raise UserError("the cache is read-only", file=self.path, hint=HINT)
                    outcome = work(connection)
                    if not self._moved() or attempt == ATTEMPTS:
                        return outcome
                except (sqlite3.Error, DamagedError, TypeError, ValueError, OverflowError) as error:
                    damaged = self._moved() or database.is_damage(error, self._connection)
                    if attempt == ATTEMPTS or not damaged:
                        raise UserError(f"the cache cannot be used: {error}", file=self.path, hint=HINT) from error
                    self.close()
                    self._put_aside()
            raise AssertionError("not reached")

    def _moved(self) -> bool:
        """Whether another process has put the file aside while this one was using it, or somebody has deleted it."""
        return self._inode() != self._file

    def _opened(self) -> sqlite3.Connection:
        if self._connection is not None and self._moved():
            self.close()
        if self._connection is None:
            was_writable = self._writable
            with database.alone(self.path), _FILES:
                try:
                    self._connection, self._writable = database.opened(self.path)
                finally:
                    self._file = self._inode()
                    if self._connection is None:
                        self._let_go()
            self._models.clear()
            if was_writable and not self._writable:
                note(f"{self.path}: the cache is read-only: new answers are not kept")
        return self._connection

    def _inode(self) -> tuple[int, int] | None:
        try:
            status = os.stat(self.path)
        except OSError:  # not there, or in memory
            return None
        return status.st_dev, status.st_ino

    def _put_aside(self) -> None:
        """Renames the damaged file. Of several processes that notice it, one does."""
        aside = f"{self.path}.corrupt-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
        try:
            with database.alone(self.path):
                if self._file is None or self._moved():
                    return  # another process was faster
                for end in (*database.ENDS, ""):
                    if os.path.exists(self.path + end):
                        os.replace(self.path + end, aside + end)
        except FileNotFoundError:
            return
        except OSError:  # it cannot be renamed: this process does without it
            note(f"{self.path}: the cache is damaged and read-only: it is not used")
            self.path = MEMORY
            return
        note(f"{self.path}: the cache is damaged; a new one is begun, the old one is kept as {aside}")

    def _bytes(self) -> int:
        return sum(os.path.getsize(self.path + end) for end in ("", "-wal") if os.path.exists(self.path + end))


# -- forks -------------------------------------------------------------------------------------------------------------

_STORES: weakref.WeakSet[Store] = weakref.WeakSet()
_FORKING: list[Store] = []


def _before_fork() -> None:
    """Closes all files: a connection that a child inherits loses its locks when the parent closes its own."""
    _FORKING.extend(_STORES)
    for store in _FORKING:
        store._lock.acquire()
        if store.path != MEMORY:
            store.close()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop()._lock.release()


if hasattr(os, "register_at_fork"):  # not on Windows, where nothing forks
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# -- the tables --------------------------------------------------------------------------------------------------------


def _seal(key: bytes, value: bytes) -> bytes:
    return blake2b(key + value, digest_size=SEAL).digest()


def _select(
    connection: sqlite3.Connection, keys: Sequence[bytes]
) -> tuple[dict[bytes, bytes], list[tuple[int, bytes]]]:
    """The answers, and (now, key) of those whose last use is long ago."""
    answers: dict[bytes, bytes] = {}
    now = int(time.time())
    stale: list[tuple[int, bytes]] = []
    for start in range(0, len(keys), AT_ONCE):
        asked = keys[start : start + AT_ONCE]
        asked = [*asked, *[asked[-1]] * (AT_ONCE - len(asked))]  # always the same statement, which SQLite keeps ready
        for key, value, used in connection.execute(FIND, asked):
            answers[key] = value[SEAL:]
            if value[:SEAL] != _seal(key, answers[key]):
                raise DamagedError("an answer is not what was written")
            if now - used > STALE:
                stale.append((now, key))
    return answers, stale


def _compact(connection: sqlite3.Connection) -> None:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _drop(connection: sqlite3.Connection, to: int) -> int:
    """Deletes the least recently used answers until they take at most `to` bytes; returns how many."""
    total = 0
    while True:
        with transaction(connection):
            over = _held(connection) - to  # again each time: another process may be doing the same
            dropped = connection.execute(OLDEST, (CHUNK, over)).rowcount
        total += dropped
        if dropped < CHUNK:
            return total
        time.sleep(TURN)


def _held(connection: sqlite3.Connection) -> int:
    """Bytes that the answers take, about; triggers keep it up to date."""
    return int(connection.execute("SELECT bytes FROM held").fetchone()[0])
