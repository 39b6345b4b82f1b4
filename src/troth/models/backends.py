"""Registry of backends by scheme, and `nli` and `lm`, which open a model by name.

A scheme is the part of a name before the colon (`hf:ORG/MODEL`), or the whole name (`embedded`); any other name is a
folder. Weights are loaded for the first request that the cache cannot answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from troth.core.errors import UserError
from troth.core.names import Path, path_of
from troth.core.registry import Registry
from troth.models.cached import CachedLm, CachedNli
from troth.models.protocols import Lm, Nli
from troth.storage.cache import DEFAULT_CACHE, Store

if TYPE_CHECKING:
    from troth.models.hub import ModelFiles

SERVED = {"nli": "entailment", "lm": "log-probabilities", "files": "model for transformers"}


@dataclass(frozen=True)
class Backend:
    """A kind of model: the form of its names, the protocols it serves, and how a name is opened.

    `nli`, `lm` and `files` take the whole name; None for a protocol that the backend does not serve. A model loads its
    weights on first use. A name may end with one of the `modifiers`, such as `+int8`: `lm` gets it as a keyword.
    """

    form: str  # of a name: "hf:ORG/MODEL@REV"
    about: str
    nli: Callable[[str], Nli] | None = None
    lm: Callable[..., Lm] | None = None
    modifiers: Mapping[str, str] = field(default_factory=dict)  # of language models, each with a description
    files: Callable[[str], ModelFiles] | None = None  # where transformers finds the model
    cached: bool = True  # whether answers are stored
    timed: bool = False  # whether `lm` takes a timeout, in seconds for one answer

    def open(self, protocol: str, name: str, **options: bool | float) -> Any:
        """The model of this name, for a protocol that the backend serves: "nli", "lm" or "files"."""
        opens: Callable[..., Any] | None = getattr(self, protocol)
        if opens is None:
            others = dict.fromkeys(
                backend.form for backend in _all_backends() if getattr(backend, protocol) is not None
            )
            raise UserError(f"'{name}' gives no {SERVED[protocol]}", hint="these do: " + ", ".join(others))
        return opens(name, **options)


INT8 = {"int8": "language models that are Llamas, by any name above: in eight bits, faster and a little off"}

BACKENDS: Registry[Backend] = Registry(
    "backend",
    "troth.backends",
    {
        "embedded": "troth.models.embedded:BACKEND",
        "strong": "troth.models.hf:STRONG",
        "hf": "troth.models.hf:HUB",
        "folder": "troth.models.hf:FOLDER",
        "gguf": "troth.models.gguf:BACKEND",
        "http": "troth.models.endpoint:BACKEND",
        "https": "troth.models.endpoint:BACKEND",
        "fake": "troth.models.fake:BACKEND",
    },
)


def nli(name: Path = "embedded", *, cache: Path | None = DEFAULT_CACHE) -> Nli:
    """Opens the entailment model of this name.

    `cache` is a file of earlier answers, by default the one in the cache folder; None keeps no file.

    >>> nli("fake").probabilities([("A table for two.", "a table")])[0].entailed
    True
    """
    model = uncached_nli(name)
    return CachedNli(model, Store.at(cache)) if backend_for(path_of(name)).cached else model


def lm(name: Path = "embedded", *, cache: Path | None = DEFAULT_CACHE, timeout: float | None = None) -> Lm:
    """Opens the language model of this name; `cache` as in `nli`; `timeout`: seconds for an answer of a server.

    With `+int8` after the name of a Llama, log-probabilities are computed in eight bits: faster, and a little off.

    >>> lm("fake").logprobs([("The capital of France is", " Paris.")])[0].tokens
    (' Paris.',)
    """
    model = uncached_lm(name, timeout=timeout)
    return CachedLm(model, Store.at(cache)) if backend_for(_split_modifier(name)[0]).cached else model


def uncached_nli(name: Path) -> Nli:
    """The entailment model of this name without a cache: for a long-running process."""
    text = path_of(name)
    model: Nli = backend_for(text).open("nli", text)
    return model


def uncached_lm(name: Path, *, timeout: float | None = None) -> Lm:
    stem, modifier = _split_modifier(name)
    timed = {"timeout": timeout} if timeout is not None and backend_for(stem).timed else {}
    model: Lm = backend_for(stem).open("lm", stem, **({modifier: True} if modifier else {}), **timed)
    return model


def chat_name(name: str) -> str:
    """The name by which a model is asked as a chat, if its backend can; else the name itself."""
    return f"{name}+chat" if "chat" in backend_for(name).modifiers and not name.endswith("+chat") else name


def _split_modifier(name: Path) -> tuple[str, str]:
    """Splits the name of a language model into name and modifier; the modifier may be empty."""
    stem, plus, modifier = (text := path_of(name)).rpartition("+")
    return (stem, modifier) if plus and modifier in backend_for(stem).modifiers else (text, "")


def backend_for(name: str) -> Backend:
    """The backend of a name, by its scheme."""
    scheme, colon, _ = name.partition(":")
    backend = BACKENDS.load(scheme if scheme in BACKENDS else "folder")
    # `fake:x` and a folder called `hf` do not belong to these schemes.
    return backend if (":" in backend.form) == bool(colon) else BACKENDS.load("folder")


def forms() -> dict[str, str]:
    """The form of the names of each kind of model, with a description."""
    every = _all_backends()
    return {backend.form: backend.about for backend in every} | {
        f"NAME+{modifier}": about for backend in every for modifier, about in backend.modifiers.items()
    }


def _all_backends() -> list[Backend]:
    return [BACKENDS.load(scheme) for scheme in BACKENDS.by_name()]
