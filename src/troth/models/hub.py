"""Finds and loads models of transformers: in a folder, on the Hugging Face hub, or embedded.

A model's name says what its weights are: the commit of a model of the hub, a digest of the files of a folder. A folder
with other weights in it is another model, and a folder moved elsewhere is the same one.

Model folders come from other people. Weights are read from files of the folder itself that end in .safetensors, which
hold nothing but numbers; an index or a config that leads elsewhere is refused, and so are links out of the folder,
numbers of layers that would take for ever to build, and weights that are not finite.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from troth.core.errors import UserError
from troth.core.extras import requiring
from troth.core.panics import without_backtrace
from troth.models import backends
from troth.models.verified import fault_since

NEEDED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.spm", "*.jinja")
VOCABULARY = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")  # at least one of these
INDEX = "model.safetensors.index.json"  # of weights in several files
WEIGHTS = ".safetensors"
SHA256 = re.compile(r"[0-9a-f]{64}")
REPEATED = re.compile(r"(n|num)_.*(layer|block|expert|stage)|layers$|depths?$")  # numbers of parts, each built in turn
MOST_PARTS, LARGEST = 1_000, 100_000_000  # such parts, and any other whole number of a config but a base of rotation
HUB = re.compile(r"hf:(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w./-]+))?", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")


class ModelFiles(NamedTuple):
    """A model's name with its revision, and a function that returns its folder, which may take a download."""

    name: str
    folder: Callable[[], Path]
    digest: str = ""  # of its files, where the name does not say what they are

    @property
    def identity(self) -> str:
        """What answers in the cache depend on: the name, and the files."""
        return f"{self.name}#{self.digest}" if self.digest else self.name


def source(name: str) -> ModelFiles:
    """The files of `hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION`, or a folder, for metrics that load a model themselves."""
    opened: ModelFiles = backends.backend_for(name).open("files", name)
    return opened


def in_folder(name: str) -> ModelFiles:
    folder = Path(name)
    if not folder.is_dir():
        hint = "embedded, hf:ORG/MODEL@REVISION, or a folder; see troth ls backends"
        raise UserError(f"no model is called '{name}'", hint=hint)
    return ModelFiles(f"{folder.resolve().name}@{digest(_check_files(folder))}", lambda: folder)


def embedded_files(name: str) -> ModelFiles:
    """The files of a model that `troth models` lists."""
    from troth.models import catalog

    model = catalog.find(name)
    return ModelFiles(f"{model.name}@{model.revision}", lambda: catalog.ready(model), catalog.identity(model))


def digest(folder: Path) -> str:
    """A digest of the names and contents of a model's files."""
    total = hashlib.sha256()
    for path in _files(folder):
        try:
            with path.open("rb") as file:
                total.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", file=str(path)) from error
    return total.hexdigest()[:16]


def on_hub(name: str) -> ModelFiles:
    """The files of a model of the hub. What the hub's cache on this disk has is taken first, without a connection."""
    match = HUB.fullmatch(name)
    if match is None:
        raise UserError(f"'{name}' is not a model of the hub", hint="such as hf:FacebookAI/roberta-large-mnli@REVISION")
    repo, revision = match["repo"], match["revision"]
    with requiring("neural"):
        from huggingface_hub import hf_hub_download, snapshot_download
        from huggingface_hub.utils import disable_progress_bars, logging
    logging.set_verbosity_error()  # it reports each attempt to connect
    if not sys.stderr.isatty():
        disable_progress_bars()

    def get(call: Callable[..., Any], complete: Callable[[Path], bool], **what: Any) -> Path:
        with suppress(OSError, ValueError):  # which it raises for what is not on this disk
            local = Path(call(repo, **what, local_files_only=True))
            if complete(local):
                return local
        try:
            return Path(call(repo, **what))
        except Exception as error:  # its own errors, those of its HTTP library, of the disk
            shown = f"{repo}@{revision}" if revision else repo
            hint = "is there a connection, and is the name right? Without one: a folder, or embedded"
            line = f"the model '{shown}' cannot be fetched from the hub: {_first_line(error)}"
            raise UserError(line, hint=hint) from error

    commit = revision or ""
    if not COMMIT.fullmatch(commit):
        commit = get(hf_hub_download, Path.is_file, filename="config.json", revision=revision).parent.name

    def folder() -> Path:
        patterns = {"allow_patterns": list(NEEDED), "ignore_patterns": ["*/*"]}
        return _check_blobs(_check_files(get(snapshot_download, _complete, revision=commit, **patterns)))

    return ModelFiles(f"hf:{repo}@{commit}", folder)


def _check_files(folder: Path) -> Path:
    """Refuses a folder without a model, and one that leads to files elsewhere."""
    if not (folder / "config.json").is_file():
        inner = next(iter(sorted(folder.glob("*/config.json"))), None)  # a training run keeps several
        hint = f"name one of the models in it, such as {inner.parent}" if inner else None
        raise UserError("holds no model: there is no config.json in it", file=str(folder), hint=hint)
    if not any(folder.glob(f"*{WEIGHTS}")):
        hint = "other formats can run code; convert it with save_pretrained"
        raise UserError("holds no weights as safetensors", file=str(folder), hint=hint)
    if (folder / "adapter_config.json").exists():
        raise UserError("is an adapter of another model", file=str(folder), hint="merge the two and save the result")
    # The hub's own cache links to files beside its folders.
    within = (folder.parent.parent if folder.parent.name == "snapshots" else folder).resolve()
    for path in _files(folder):
        if path.is_symlink() and not path.resolve().is_relative_to(within):
            raise UserError("is a link out of the model's folder", file=str(path), hint="copy the file into it")
    for path in folder.glob("*.index.json"):
        for name in _shards(path):
            if Path(name).name != name or not name.endswith(WEIGHTS) or not (folder / name).is_file():
                raise UserError(
                    f"names '{name}', which is not a file of the folder that ends in {WEIGHTS}", file=str(path)
                )
    _check_config(folder / "config.json")
    return folder


def _files(folder: Path) -> list[Path]:
    return sorted({path for pattern in NEEDED for path in folder.glob(pattern) if path.is_file() or path.is_symlink()})


def _shards(index: Path) -> set[str]:
    """The files that an index of weights names."""
    with loading(str(index)):
        return {str(name) for name in _decode(index)["weight_map"].values()}


def _check_config(path: Path) -> None:
    """Refuses numbers that no model has: transformers would build as many layers as a config asks for."""
    with loading(str(path)):
        config = _decode(path)
    if weights := config.get("transformers_weights") if isinstance(config, dict) else None:
        raise UserError(f"names '{weights}' for its weights", file=str(path), hint=f"call them model{WEIGHTS}")
    open_values: list[tuple[str, Any]] = [("", config)]
    while open_values:
        key, value = open_values.pop()
        if isinstance(value, dict):
            open_values += [(str(name), item) for name, item in value.items()]
        elif isinstance(value, list):
            open_values += [(key, item) for item in value]
        elif isinstance(value, int) and value > _limit(key):
            raise UserError(f"'{key}' is larger than in any model", file=str(path))


def _limit(key: str) -> float:
    return math.inf if "theta" in key else MOST_PARTS if REPEATED.search(key) else LARGEST


def _decode(path: Path) -> Any:
    return json.loads(path.read_bytes())  # as transformers reads it, with NaN and Infinity


def _check_blobs(folder: Path) -> Path:
    """Verifies weights in the hub's cache, which names files by their SHA-256 and links to them."""
    blobs = {path.name: path.resolve().name for path in folder.glob(f"*{WEIGHTS}") if path.is_symlink()}
    blobs = {name: digest for name, digest in blobs.items() if SHA256.fullmatch(digest)}
    if wrong := fault_since(folder, blobs):
        raise UserError(wrong, hint="delete what it links to; it is downloaded again")
    return folder


def _complete(folder: Path) -> bool:
    """Whether all files of a model are there; the hub's cache may hold any part of them."""
    parts = _shards(folder / INDEX) if (folder / INDEX).is_file() else set()
    has_parts = all((folder / name).is_file() for name in ("config.json", *parts)) and any(folder.glob("*.safetensors"))
    return has_parts and any(any(folder.glob(name)) for name in VOCABULARY)


@contextmanager
def loading(what: str, fails: str = "the model cannot be loaded") -> Iterator[None]:
    """Turns every error that transformers raises over a model's files into one line that names them."""
    try:
        with without_backtrace(), requiring("neural"):
            yield
    except UserError:
        raise
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # tokenizers raises one that is not an Exception
        raise UserError(f"{fails}: {_first_line(error)}", file=what) from error


tokenizing = partial(loading, fails="the tokenizer fails")


def load(source: ModelFiles, kind: str) -> tuple[Any, Any]:
    """Tokenizer and model (of transformers' class `kind`) in float32, without running code that comes with them."""
    with requiring("neural"):
        import torch
        import transformers
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    folder = source.folder()
    safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with loading(str(folder)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        model, report = getattr(transformers, kind).from_pretrained(
            folder, **safe, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
        special = set(tokenizer.all_special_ids)
        words = [number for number in tokenizer.get_vocab().values() if number not in special]
        rows = len(model.get_input_embeddings().weight)
    if not words:  # without a tokenizer's files, transformers makes one of special tokens
        raise UserError("the model has no tokenizer, or one without words", file=str(folder))
    if max(words) >= rows:
        raise UserError(f"the tokenizer has {max(words) + 1} tokens, the model {rows}", file=str(folder))
    if report["missing_keys"]:  # transformers would use random weights
        what = f"the model has no weights for {', '.join(sorted(report['missing_keys'])[:3])}"
        raise UserError(what, file=str(folder), hint="is it trained for this task?")
    with loading(str(folder)):
        odd = next((name for name, weight in model.named_parameters() if not torch.isfinite(weight).all()), None)
    if odd is not None:
        raise UserError(f"the weights of {odd} are not finite", file=str(folder), hint="are they damaged?")
    return tokenizer, model.eval()


def _first_line(error: BaseException) -> str:
    if "ignore_mismatched_sizes" in str(error):
        return "its weights have other shapes than its config.json says"
    return (str(error).strip() or type(error).__name__).split("\n")[0]
