"""Catalog of the embedded models: what they are, where they are stored, and whether their files are intact.

The entailment model and the trackers are part of this package. The others are in wheels of other packages, which
`troth.models.download` fetches; `catalog.json` names them, each with its SHA-256. The folder of a fetched model has
a list of its files and their SHA-256, by which they are verified when the model is loaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from troth.core.errors import UserError, suggest_name
from troth.models import verified
from troth.storage import places
from troth.storage.files import folder_size

MANIFEST = "troth.json"  # in the folder of a fetched model: written last
RELEASED = "model.json"  # in the folder of a model of this package


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
    joined: str = ""  # the file that parts in several wheels form: a zip with a folder of its name in it, or the model
    on_disk: int = 0  # bytes when it is unpacked and converted, about
    place: str = ""  # folder beside this file: the model if it has no wheels, otherwise what was learnt on top of it
    by_default: bool = True  # whether `fetch` without names downloads it

    @property
    def revision(self) -> str:
        digests = [wheel.sha256 for wheel in self.wheels]
        if self.wheels and self.place:
            digests += sorted(released_files(self).values())
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
        return folder_size(self.folder) if self.here else self.on_disk


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
MODELS = tuple(msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=list[Model]))


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
    if not model.here:
        return f"{model.folder}: is not on this disk"
    others: set[str] = set()
    try:
        if model.wheels:
            expected = _manifest(model).files
            others = {file.name for file in model.folder.iterdir()} - {MANIFEST, *expected}
        else:
            expected = released_files(model)
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


def released_files(model: Model) -> dict[str, str]:
    """The SHA-256 of the files in the folder of this package."""
    return msgspec.json.decode((model.place_here / RELEASED).read_bytes(), type=_Released).sha256


def _manifest(model: Model) -> Manifest:
    return msgspec.json.decode((model.folder / MANIFEST).read_bytes(), type=Manifest)
