"""Back-translation: the same text in other words, by way of another language.

A translator has `there_and_back(texts)`, which returns one text per text; and `name`, which is recorded in
perturbation.json. Apertium is a Debian program that translates by rules, offline, thousands of texts per second; Marian
models are neural and need transformers. `TranslationParaphraser` makes either of them an engine for paraphrases.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from troth.core.errors import UserError
from troth.core.extras import requiring
from troth.perturb.users.engines import Failed, Rewrite

if TYPE_CHECKING:
    from troth.perturb.users.paraphrase import Paraphrase

APERTIUM = "apertium"
FENCE = "Hello."  # added before and after a batch, so that its first and last text are treated like the others


class Translator(Protocol):
    """Translates texts to another language and back."""

    @property
    def name(self) -> str: ...

    def there_and_back(self, texts: Sequence[str]) -> list[str]:
        """One text per text. The same batch gives the same result; in another batch, single texts may differ."""
        ...


def translator(name: str) -> Translator:
    """The translator `apertium:eng-spa`, or `marian:MODEL_THERE,MODEL_BACK`."""
    kind, _, rest = name.partition(":")
    if kind == APERTIUM:
        return Apertium(rest or "eng-spa")
    there, _, back = rest.partition(",")
    if kind == "marian" and there and back:
        return Marian(there, back)
    raise UserError(f"'{name}' is not a translation engine", hint="apertium:eng-spa, or marian:MODEL_THERE,MODEL_BACK")


class Apertium(msgspec.Struct, frozen=True):
    """Debian's apertium: `pair` is the direction there, such as eng-spa or eng-cat.

    Its tagger keeps a memory from text to text: about one text in a hundred changes with the texts before it. For the
    same result in any order and on any number of workers, translate related texts (one dialogue, one schema) in one
    call.
    """

    pair: str = "eng-spa"
    marks: bool = False  # keep the * before a word that the dictionary does not have

    @property
    def name(self) -> str:
        return f"{APERTIUM}:{self.pair}"

    def there_and_back(self, texts: Sequence[str]) -> list[str]:
        there, _, back = self.pair.partition("-")
        if not texts:
            return []
        self.check_installed()
        plain = [" ".join(text.split()) for text in texts]
        foreign = _translate(plain, f"{there}-{back}")
        home = _translate(foreign, f"{back}-{there}", marks=self.marks)
        return [_restore_case(new, old) if old else "" for new, old in zip(home, plain, strict=True)]

    def check_installed(self) -> None:
        """Raises an error that names the missing package if the program or the pair is not installed."""
        hint = f"apt-get install apertium apertium-{self.pair}"
        if shutil.which(APERTIUM) is None:
            raise UserError("apertium is not installed", hint=hint)
        there, _, back = self.pair.partition("-")
        known = _run(["-l"], "").split()
        for direction in (f"{there}-{back}", f"{back}-{there}"):
            if not back or direction not in known:
                raise UserError(f"apertium does not know the direction '{direction}'", hint=hint)


def _translate(texts: Sequence[str], direction: str, *, marks: bool = False) -> list[str]:
    """Translates a batch in one process. Empty lines separate texts: apertium moves no word across them."""
    fenced = [FENCE, *(text or FENCE for text in texts), FENCE]
    out = _run([direction] if marks else ["-u", direction], "\n\n".join(fenced) + "\n")
    parts = [" ".join(part.split()) for part in out.rstrip("\n").split("\n\n")]
    if len(parts) != len(fenced):
        raise UserError(f"apertium {direction} gave {len(parts)} texts for {len(fenced)}", hint="is it up to date?")
    return parts[1:-1]


def _run(arguments: Sequence[str], text: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (a fixed program, arguments without a shell)
            [APERTIUM, *arguments], input=text.encode(), capture_output=True, check=True
        )
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        what = f"apertium failed: {said.decode(errors='replace').strip()}"
        raise UserError(what, hint="does it run by itself?") from error
    return done.stdout.decode(errors="replace")


def _restore_case(new: str, old: str) -> str:
    """Restores the case of the first letter: apertium treats each text as a sentence and capitalises it."""
    new = re.sub(r"\s+([,.!?;:])", r"\1", new)
    first = new[:1].upper() if old[:1].isupper() else new[:1].lower() if old[:1].islower() else new[:1]
    return first + new[1:]


class Marian:
    """Two Marian models of transformers, there and back: folders, or names of the hub (Helsinki-NLP/opus-mt-en-de)."""

    def __init__(self, model_there: str, model_back: str, *, batch: int = 32) -> None:
        self.models, self.batch = (model_there, model_back), batch
        self._loaded: list[tuple[Any, Any]] | None = None

    @property
    def name(self) -> str:
        return f"marian:{self.models[0]},{self.models[1]}"

    def there_and_back(self, texts: Sequence[str]) -> list[str]:
        if self._loaded is None:
            self._loaded = [_marian(model) for model in self.models]
        current = list(texts)
        for tokenizer, model in self._loaded:
            batches = [current[i : i + self.batch] for i in range(0, len(current), self.batch)]
            current = [text for batch in batches for text in _generate(tokenizer, model, batch)]
        return current


def _marian(name: str) -> tuple[Any, Any]:
    with requiring("neural"):
        from transformers import MarianMTModel, MarianTokenizer
    try:
        # Safetensors only: the older format can execute code.
        model = MarianMTModel.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
        return MarianTokenizer.from_pretrained(name), model.eval()
    except (OSError, ImportError, ValueError) as error:
        what = f"the model '{name}' cannot be loaded: " + str(error).strip().split("\n")[0]
        raise UserError(what, hint="a folder with model.safetensors?") from error


def _generate(tokenizer: Any, model: Any, texts: Sequence[str]) -> list[str]:
    import torch

    with torch.no_grad():
        asked = tokenizer(list(texts), return_tensors="pt", padding=True, truncation=True)
        output = model.generate(**asked, do_sample=False)  # no sampling: the same batch gives the same result
    return [str(text) for text in tokenizer.batch_decode(output, skip_special_tokens=True)]


def engine(options: Paraphrase) -> TranslationParaphraser:
    """The engine `translate`: Marian models if they are named, else apertium."""
    if (options.model_there is None) != (options.model_back is None):
        raise UserError("translation needs two models", hint="give both model_there and model_back")
    if options.model_there is not None and options.model_back is not None:
        return TranslationParaphraser([Marian(options.model_there, options.model_back)])
    return TranslationParaphraser([Apertium(pair, marks=True) for pair in options.pivots])


class TranslationParaphraser:
    """Paraphrases by translators; values are replaced by words that no dictionary has, and restored afterwards."""

    def __init__(self, translators: Sequence[Translator]) -> None:
        self.translators = tuple(translators)
        self.varies = len(self.translators) > 1

    def rewrite(self, requests: Sequence[Rewrite]) -> list[str | Failed]:
        out: list[str | Failed] = [Failed("engine: no answer")] * len(requests)
        for number, each in enumerate(self.translators):
            indices = [i for i, request in enumerate(requests) if request.seed % len(self.translators) == number]
            for i, text in zip(indices, each.there_and_back([_mask(requests[i]) for i in indices]), strict=True):
                out[i] = _unmask(requests[i], text)
        return out


_PLACEHOLDER = re.compile(r"\bxq([a-z]+)\b", re.IGNORECASE)


def _placeholder(number: int) -> str:
    return "Xq" + "".join(chr(ord("a") + int(digit)) for digit in str(number))


def _mask(request: Rewrite) -> str:
    pieces, at = [], 0
    for number, part in enumerate(request.stretches):
        value = request.text[part.start : part.end]
        shown = value if value.isdecimal() else _placeholder(number)  # "2 nights" agrees
        pieces += [request.text[at : part.start], shown]
        at = part.end
    return "".join([*pieces, request.text[at:]])


def _unmask(request: Rewrite, text: str) -> str:
    parts = [request.text[part.start : part.end] for part in request.stretches]
    values = {_placeholder(number).lower(): value for number, value in enumerate(parts)}
    original = set(re.findall(r"\w+", request.text))
    # A new word that no dictionary has comes from the other language: its mark is kept, and the guard refuses it.
    text = re.sub(r"\*(\w+)", lambda m: m[1] if m[1] in original or _PLACEHOLDER.fullmatch(m[1]) else m[0], text)

    def lower_word(match: re.Match[str]) -> str:  # apertium hands capitals on to neighbours: "Thank you A lot"
        word = match.group()
        return word if word in original or word == "I" or _PLACEHOLDER.fullmatch(word) else word.lower()

    text = re.sub(r"(?<=[^\W_] )[A-Z]\w*", lower_word, text)
    return _PLACEHOLDER.sub(lambda match: values.get(match.group().lower(), match.group()), text)
