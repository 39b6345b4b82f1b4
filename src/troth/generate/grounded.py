"""Responses from a document and a history, by any decoder or encoder-decoder of transformers.

A model is put the same context twice, with the document and without it (PMI-Decode needs both). Two ways to put it:

- `plain`: the pieces of PMI-Faith, `Document: …`, the history, `Agent:`, tokenised apart. A response is one line.
- `chat`: the model's own template for conversations, the document in the first message. A response ends where the
  model says so.

Neither begins with an end, a blank or an empty line: a response has a word in it. A context that is longer than the
model reads loses the end of its document first. What was generated is kept in the store of models' answers, so that a
killed run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import msgspec
import torch
import transformers

from troth.backends.batches import Progress, Room, encodable, planned
from troth.backends.hf import LANGUAGE, fitted, reach
from troth.backends.hub import Source, load
from troth.backends.store import Store, key
from troth.errors import UserError
from troth.generate.pmi_decode import Prompt, Setting, decode
from troth.records import Grounded
from troth.scorers.pmi import DOCUMENT, HISTORY

Style = Literal["plain", "chat"]
STYLES: tuple[Style, ...] = ("plain", "chat")

ANSWER = "Agent:"  # what a response begins after
TASK = "Answer in one or two sentences."
GROUNDED = "Answer in one or two sentences, with what this document says.\n\n" + DOCUMENT
ROOM = Room(items=8, units=8192)


class Response(msgspec.Struct, frozen=True):
    text: str
    tokens: int  # generated
    dropped: int  # tokens of the context that the model did not get to see


class Context(NamedTuple):
    prompt: Prompt
    dropped: int


_DECODER = msgspec.msgpack.Decoder(Response)


class Responder:
    """A model that answers. It is loaded when the first response is asked that the store lacks."""

    def __init__(self, source: Source, store: Store, *, style: Style = "plain") -> None:
        self.source, self.store, self.style = source, store, style
        self._loaded: tuple[Any, Any, int] | None = None
        self._marked: tuple[Any, Any] | None = None

    @property
    def name(self) -> str:
        return self.source.name

    def recipe(self, setting: Setting) -> str:
        return f"model:{self.name}|prompt:{self.style}|first:word|{setting.recipe}"

    def responses(
        self, items: Sequence[Grounded], setting: Setting, *, progress: Progress | None = None
    ) -> list[Response]:
        """A response to each item's document and history; its own response is not looked at. Progress is in tokens."""
        recipe = self.recipe(setting)
        keys = [key("respond", recipe, item.document, *item.history) for item in items]
        found = self.store.get(keys)
        missing = {digest: item for digest, item in zip(keys, items, strict=True) if digest not in found}
        contexts = {digest: self.context(item, setting.max_tokens) for digest, item in missing.items()}
        order = list(contexts)
        lengths = [len(contexts[digest].prompt.given) + setting.max_tokens for digest in order]
        beams = setting.beams if "beam" in setting.mode else 1
        done = 0
        for batch in planned(lengths, Room(ROOM.items, max(1, ROOM.units // beams))):
            asked = [order[place] for place in batch]
            rows = list(zip(asked, self._made([contexts[digest] for digest in asked], setting), strict=True))
            self.store.put(self.name, rows)
            found.update(rows)
            done += sum(lengths[place] for place in batch)
            if progress is not None:
                progress(done, sum(lengths))
        return [_DECODER.decode(found[digest]) for digest in keys]

    def _made(self, contexts: Sequence[Context], setting: Setting) -> list[bytes]:
        tokenizer, model, _ = self._model()
        ends, silent = self._marked_tokens()
        padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        rows = decode(model, [one.prompt for one in contexts], setting, padding=padding, ends=ends, silent=silent)
        made = []
        for tokens, context in zip(rows, contexts, strict=True):
            text = str(tokenizer.decode(tokens, skip_special_tokens=True)).strip()
            said = text.split("\n")[0].strip() if self.style == "plain" else text
            made.append(msgspec.msgpack.encode(Response(said, len(tokens), context.dropped)))
        return made

    # -- contexts ------------------------------------------------------------------------------------------------------

    def context(self, item: Grounded, max_tokens: int) -> Context:
        """The item in tokens, with its document and without, and room for a response."""
        _, model, limit = self._model()
        room = limit if model.config.is_encoder_decoder else limit - max_tokens
        if room < 1:
            raise UserError(f"{max_tokens} tokens are more than '{self.name}' reads", hint=f"it reads {limit}")
        given, dropped = self._chat(item, room) if self.style == "chat" else self._plain(item, room)
        alone, _ = self._chat(None, room, item) if self.style == "chat" else self._plain(None, room, item)
        return Context(Prompt(tuple(given), tuple(alone)), dropped)

    def _plain(self, item: Grounded | None, room: int, other: Grounded | None = None) -> tuple[list[int], int]:
        tokenizer, model, _ = self._model()
        history = "\n".join((item or other or _NOTHING).history)
        pieces = [DOCUMENT.format(item.document)] if item else []
        pieces += [HISTORY.format(history)] if model.config.is_encoder_decoder else [HISTORY.format(history), ANSWER]
        ids = [tokenizer(encodable(piece), add_special_tokens=False)["input_ids"] for piece in pieces]
        before, after = self._marks()
        kept, dropped = fitted(ids, room - len(before) - len(after), 0 if item else -1)
        return [*before, *kept, *after], dropped

    def _chat(self, item: Grounded | None, room: int, other: Grounded | None = None) -> tuple[list[int], int]:
        tokenizer, _, _ = self._model()
        history = (item or other or _NOTHING).history
        roles = ["user" if (len(history) - place) % 2 else "assistant" for place in range(len(history))]
        said = [{"role": role, "content": encodable(turn)} for role, turn in zip(roles, history, strict=True)]

        def written(document: str | None) -> list[int]:
            task = {"role": "system", "content": TASK if document is None else GROUNDED.format(document).rstrip()}
            options: dict[str, Any] = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
            return list(tokenizer.apply_chat_template([task, *said], **options))

        ids = written(encodable(item.document) if item else None)
        over = len(ids) - room
        if over > 0 and item:
            tokens = tokenizer(encodable(item.document), add_special_tokens=False)["input_ids"]
            ids = written(tokenizer.decode(tokens[: max(0, len(tokens) - over)]))
        return ids[-room:], max(0, over)

    def _marks(self) -> tuple[list[int], list[int]]:
        """What an encoder has before and after a text; a decoder's prompt has nothing around it."""
        tokenizer, model, _ = self._model()
        if not model.config.is_encoder_decoder:
            return [], []
        inner = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        start = next((place for place in range(len(whole)) if whole[place : place + len(inner)] == inner), 0)
        return whole[:start], whole[start + len(inner) :]

    def _marked_tokens(self) -> tuple[Any, Any]:
        """Which tokens end a response of this style, beside the model's own, and which none begins with."""
        if self._marked is None:
            tokenizer, model, _ = self._model()
            size = model.config.get_text_config(decoder=True).vocab_size
            texts = tokenizer.batch_decode([[token] for token in range(min(size, len(tokenizer)))])
            texts += [""] * (size - len(texts))
            lines = torch.tensor(["\n" in text for text in texts])
            silent = lines | torch.tensor([not text.strip() for text in texts])
            silent[[token for token in tokenizer.all_special_ids if token < size]] = True
            self._marked = (lines if self.style == "plain" else None), silent
        return self._marked

    def _model(self) -> tuple[Any, Any, int]:
        if self._loaded is None:
            folder = self.source.folder()
            config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
            kind = "AutoModelForSeq2SeqLM" if config.is_encoder_decoder else "AutoModelForCausalLM"
            tokenizer, model = load(self.source, kind)
            if self.style == "chat" and not tokenizer.chat_template:
                raise UserError(f"'{self.name}' has no template for conversations", hint="--prompt plain")
            own = model.generation_config
            end = tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id
            # Penalties and the like, which a model may bring along, would go into every text without anyone asking.
            model.generation_config = transformers.GenerationConfig(
                eos_token_id=end,
                decoder_start_token_id=own.decoder_start_token_id,
                forced_bos_token_id=own.forced_bos_token_id,
                forced_eos_token_id=own.forced_eos_token_id,
            )
            self._loaded = tokenizer, model, reach(tokenizer, model.config, LANGUAGE)
        return self._loaded


_NOTHING = Grounded("", "", "")
