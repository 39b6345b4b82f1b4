"""Where models for transformers are: in a folder, on the Hugging Face hub, or embedded; and what they are called.

The name holds what the weights are: a commit for a model of the hub, a digest of the files for a folder, so that a
folder with other weights in it is another model, and a folder moved elsewhere the same.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from troth.core.errors import UserError

NEEDED = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
VOCABULARY = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")  # one of these at least
INDEX = "model.safetensors.index.json"  # of weights in several files
HUB = re.compile(r"hf:(?P<repo>[\w.-]+(/[\w.-]+)?)(@(?P<revision>[\w./-]+))?", re.ASCII)
COMMIT = re.compile(r"[0-9a-f]{40}")


class Source(NamedTuple):
    """A model's name with its revision, and how to get hold of its folder, which may take a download."""

    name: str
    folder: Callable[[], Path]


def source(name: str) -> Source:
    """`hf:ORG/MODEL`, `hf:ORG/MODEL@REVISION`, or a folder."""
    if name.startswith("hf:"):
        match = HUB.fullmatch(name)
        if match is None:
            raise UserError(
                f"'{name}' is no model of the hub", hint="such as hf:FacebookAI/roberta-large-mnli@REVISION"
            )
        return _on_hub(match["repo"], match["revision"])
    folder = Path(name)
    if not folder.is_dir():
        raise UserError(
            f"no model is called '{name}'", hint="embedded, hf:ORG/MODEL@REVISION, or a folder; see troth ls backends"
        )
    _whole(folder)
    return Source(f"{folder.resolve().name}@{digest(folder)}", lambda: folder)


def embedded(name: str) -> Source:
    """One of the models that `troth models` lists; fetched on first use."""
    from troth.models import catalog as models

    model = models.find(name)
    return Source(f"{model.name}@{model.revision}", lambda: models.ready(model))


def digest(folder: Path) -> str:
    """Of the names and contents of the files that make up the model."""
    total = hashlib.sha256()
    for path in sorted({path for pattern in NEEDED for path in folder.glob(pattern) if path.is_file()}):
        try:
            with path.open("rb") as file:
                total.update(path.name.encode() + b"\0" + hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise UserError(f"cannot be read: {error.strerror}", file=str(path)) from error
    return total.hexdigest()[:16]


def _whole(folder: Path) -> Path:
    if not (folder / "config.json").is_file():
        raise UserError("holds no model: there is no config.json in it", file=str(folder))
    if not any(folder.glob("*.safetensors")):
        hint = "other formats can run code; convert it with save_pretrained"
        raise UserError("holds no weights as safetensors", file=str(folder), hint=hint)
    return folder


def _on_hub(repo: str, revision: str | None) -> Source:
    """What lies in the hub's own cache on this disk is taken first, and needs no connection."""
    try:
        from huggingface_hub import hf_hub_download, snapshot_download
        from huggingface_hub.utils import disable_progress_bars, logging
    except ImportError as error:
        raise lacking(error) from error
    logging.set_verbosity_error()  # it tells of each attempt to connect
    if not sys.stderr.isatty():
        disable_progress_bars()

    def get(call: Callable[..., Any], here: Callable[[Path], bool], **what: Any) -> Path:
        with suppress(OSError, ValueError):  # which it raises for what is not on this disk
            found = Path(call(repo, **what, local_files_only=True))
            if here(found):
                return found
        try:
            return Path(call(repo, **what))
        except Exception as error:  # its own errors, those of its HTTP library, of the disk
            shown = f"{repo}@{revision}" if revision else repo
            hint = "is there a connection, and is the name right? Without one: a folder, or embedded"
            raise UserError(f"the model '{shown}' cannot be had from the hub: {_first(error)}", hint=hint) from error

    commit = revision or ""
    if not COMMIT.fullmatch(commit):
        commit = get(hf_hub_download, Path.is_file, filename="config.json", revision=revision).parent.name

    def folder() -> Path:
        patterns = {"allow_patterns": list(NEEDED), "ignore_patterns": ["*/*"]}
        return _whole(get(snapshot_download, _complete, revision=commit, **patterns))

    return Source(f"hf:{repo}@{commit}", folder)


def _complete(folder: Path) -> bool:
    """Whether all of a model is there; the hub's cache may hold any part of it."""
    parts: set[str] = set()
    if (folder / INDEX).is_file():
        with loading(str(folder / INDEX)):
            parts = set(msgspec.json.decode((folder / INDEX).read_bytes())["weight_map"].values())
    there = all((folder / name).is_file() for name in ("config.json", *parts)) and any(folder.glob("*.safetensors"))
    return there and any(any(folder.glob(name)) for name in VOCABULARY)


@contextmanager
def loading(what: str) -> Iterator[None]:
    """Whatever goes wrong in transformers with a model's files is the files' fault, and one line."""
    try:
        yield
    except UserError:
        raise
    except ImportError as error:
        raise lacking(error) from error
    except Exception as error:
        raise UserError(f"the model cannot be loaded: {_first(error)}", file=what) from error


def load(source: Source, kind: str) -> tuple[Any, Any]:
    """Tokenizer and model (of transformers' class `kind`) in float32, without running anything that comes with them."""
    try:
        import torch
        import transformers
    except ImportError as error:
        raise lacking(error) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    folder = source.folder()
    safe: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True}
    with loading(str(folder)):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        model, told = getattr(transformers, kind).from_pretrained(
            folder, **safe, use_safetensors=True, dtype=torch.float32, output_loading_info=True
        )
        special = set(tokenizer.all_special_ids)
        own = [number for number in tokenizer.get_vocab().values() if number not in special]
        rows = len(model.get_input_embeddings().weight)
    if not own:  # transformers makes a tokenizer of special tokens where there are no files of one
        raise UserError("the model has no tokenizer, or one without words", file=str(folder))
    if max(own) >= rows:
        raise UserError(f"the tokenizer has {max(own) + 1} tokens, the model {rows}", file=str(folder))
    if told["missing_keys"]:  # transformers would make do with weights drawn at random
        what = f"the model has no weights for {', '.join(sorted(told['missing_keys'])[:3])}"
        raise UserError(what, file=str(folder), hint="is it trained for this task?")
    return tokenizer, model.eval()


def lacking(error: ImportError) -> UserError:
    what = error.name or _first(error)
    return UserError(f"models of transformers need {what}, which is not installed", hint="pip install 'troth[neural]'")


def _first(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0]
