"""Archives and special files in place of data: bombs, escapes, loops, devices, torn and nested ones."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.torture import sandbox
from tests.torture.sandbox import Fault
from tests.torture.subjects import DATA

ZEROS = 3 * 10**9  # bytes that a bomb unpacks to
BLOCK = bytes(1 << 20)
GOOD = (DATA / "documents" / "careful.jsonl").read_bytes()


def _repeated(compress: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    """A bomb of many equal parts, each compressed by itself: quick to make."""
    part = 64 * len(BLOCK)
    return lambda path: path.write_bytes(compress(GOOD) + compress(bytes(part)) * (ZEROS // part))


def _tar(*members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
            for member, data in members:
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))

    return make


def _member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def _zip(*members: tuple[str, bytes]) -> Callable[[Path], object]:
    def make(path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in members:
                archive.writestr(name, data)

    return make


def _zip_bomb(path: Path) -> None:
    whole = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
    with whole as archive, archive.open("a.jsonl", "w", force_zip64=True) as file:
        for _ in range(ZEROS // len(BLOCK)):
            file.write(BLOCK)


def _nested(path: Path) -> None:
    data = GOOD
    for _ in range(12):
        data = gzip.compress(data)
    path.write_bytes(data)


def _torn(make: Callable[[Path], object]) -> Callable[[Path], object]:
    def tear(path: Path) -> None:
        make(path)
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) * 2 // 3])

    return tear


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _looping_folder(path: Path) -> None:
    path.mkdir()
    (path / "dialogues_001.json").write_bytes((DATA / "gold" / "dialogues_001.json").read_bytes())
    (path / "again").symlink_to(".")
    (path / "dialogues_002.json").symlink_to("dialogues_002.json")


def _unnamed(path: Path) -> None:
    path.mkdir()
    with open(os.fsencode(path) + b"/dialogues_\xff\x1b[31m.json", "wb") as file:
        file.write(b"[]")


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


CASES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "gzip bomb": ("a.jsonl.gz", _repeated(gzip.compress)),
    "bzip2 bomb": ("a.jsonl.bz2", _repeated(bz2.compress)),
    "xz bomb": ("a.jsonl.xz", _repeated(lambda data: lzma.compress(data, preset=0))),
    "zip bomb": ("a.zip", _zip_bomb),
    "gzip of a device": ("a.gz", _device),
    "device": ("a.jsonl", _device),
    "random device": ("a.json", lambda path: path.symlink_to("/dev/urandom")),
    "nested": ("a.jsonl.gz", _nested),
    "tar out of its folder": ("a.tar.gz", _tar((_member("../../escaped.jsonl"), GOOD))),
    "tar from the root": ("a.tar.gz", _tar((_member("/tmp/escaped-troth.jsonl"), GOOD))),  # noqa: S108
    "tar with a link": ("a.tar.gz", _tar((_member("a.jsonl", tarfile.SYMTYPE, "/etc/passwd"), b""))),
    "tar with a link to itself": ("a.tar.gz", _tar((_member("a.jsonl", tarfile.SYMTYPE, "a.jsonl"), b""))),
    "tar with a device": ("a.tar.gz", _tar((_member("a.jsonl", tarfile.CHRTYPE), b""))),
    "tar with many members": ("a.tar", _tar(*((_member(f"{n}.jsonl"), GOOD[:40]) for n in range(20_000)), mode="w")),
    "tar with the same name twice": ("a.tar.gz", _tar((_member("a.jsonl"), GOOD), (_member("a.jsonl"), b"{}\n"))),
    "zip out of its folder": ("a.zip", _zip(("../../escaped.jsonl", GOOD))),
    "zip of archives": ("a.zip", _zip(("a.jsonl.gz", gzip.compress(GOOD)), ("b.zip", b"PK\x03\x04"))),
    "empty zip": ("a.zip", _zip()),
    "empty tar": ("a.tar.gz", _tar()),
    "empty gzip": ("a.jsonl.gz", lambda path: path.write_bytes(gzip.compress(b""))),
    "torn gzip": ("a.jsonl.gz", _torn(lambda path: path.write_bytes(gzip.compress(GOOD)))),
    "torn zip": ("a.zip", _torn(_zip(("a.jsonl", GOOD)))),
    "torn tar": ("a.tar.gz", _torn(_tar((_member("a.jsonl"), GOOD)))),
    "no gzip": ("a.jsonl.gz", lambda path: path.write_bytes(GOOD)),
    "link to itself": ("a.jsonl", _loop),
    "folder in itself": ("corpus", _looping_folder),
    "name without text": ("corpus", _unnamed),
}


def attack(folder: Path, seed: int) -> Iterator[list[Fault]]:
    """Every archive with every command that reads data, for ever; the order by chance."""
    place = folder / "archives" / "in" / "deep"
    place.mkdir(parents=True)
    gold = str(DATA / "gold")
    commands = [
        ("ground", "{}", "--statistics"),
        ("dst", gold, "{}"),
        ("dst", "{}", gold),
        ("check", "{}"),
        ("agent", "score", "{}"),
        ("ground", str(DATA / "documents" / "careful.jsonl"), "--metrics", "u_f1", "--calibration", "{}"),
        ("agent", "score", str(DATA / "agents" / "hasty.jsonl"), "--tools", "{}"),
        ("convert", "{}", "new", "--to", "jsonl"),
    ]
    cases = [(name, command) for command in commands for name in CASES]
    while True:
        random.Random(seed).shuffle(cases)
        for name, command in cases:
            file, make = CASES[name]
            sandbox.removed(place)
            place.mkdir(parents=True)
            if not os.path.lexists(made := folder / "made" / name / file):  # bombs take a while to make
                made.parent.mkdir(parents=True)
                make(made)
            _placed(made, place / file)
            arguments = [part.replace("{}", file) for part in command]
            outcome = sandbox.call(arguments, place)
            escaped = [str(path) for path in (folder / "archives").rglob("escaped*")]
            wrong = [what for what in (sandbox.fault(outcome), *escaped, *sandbox.leftovers(place)) if what]
            yield [Fault("archives", name, " ".join(arguments), what) for what in wrong]
        seed += 1


def _placed(made: Path, path: Path) -> None:
    """Puts what was made where it is read. Folders and links, which know where they are, are moved."""
    if made.is_file() and not made.is_symlink():
        os.link(made, path)
    else:
        made.rename(path)
        made.parent.rmdir()
