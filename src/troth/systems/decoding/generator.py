"""Responses from a document and a history, by any decoder or encoder-decoder of transformers.

A model gets the same context twice, with the document and without it (PMI-Decode needs both), in one of two styles:

- `plain`: the pieces of PMI-Faith, `Document: …`, the history, `Agent:`, tokenised separately. A response is one line.
- `chat`: the model's own template for conversations, with the document in the first message: the system's, or the
  user's where a template has no place for a system. A response ends where the model says so.

A response never begins with an end, a blank or an empty line: it has a word in it. A context longer than the model
reads loses the end of its document first. Generated responses are kept in the store of models' answers, so that an
interrupted run continues.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
import torch
import transformers

from troth.core.errors import UserError
from troth.core.progress import bar
from troth.core.records import Grounded
from troth.core.signature import recipe_text
from troth.grounding.pmi import DOCUMENT, HISTORY
from troth.grounding.transformer import LoadedModel
from troth.models.batches import Room, plan_batches, replace_surrogates
from troth.models.hf import LANGUAGE, reach, truncate_context
from troth.models.hub import ModelFiles, load, tokenizing
from troth.storage.cache import Store, key
from troth.systems.decoding.pmi_decode import Prompt, decode
from troth.systems.decoding.settings import Setting, Style

ANSWER = "Agent:"  # what a response begins after
TASK = "Answer in one or two sentences."
GROUNDED = "Answer in one or two sentences, with what this document says.\n\n" + DOCUMENT
ROOM = Room(items=8, units=8192)
PLAIN = "use the plain prompt"


class GeneratedResponse(msgspec.Struct, frozen=True):
    text: str
    tokens: int  # generated
    dropped: int  # tokens of the context that the model did not read


class Context(NamedTuple):
    prompt: Prompt
    dropped: int


_DECODER = msgspec.msgpack.Decoder(GeneratedResponse)


class Responder:
    """A model that answers. It is loaded for the first response that the store lacks."""

    def __init__(self, files: ModelFiles, store: Store, *, style: Style = "plain") -> None:
        self.files, self.store, self.style = files, store, style

    @property
    def name(self) -> str:
        return self.files.name

    def recipe(self, setting: Setting) -> dict[str, Any]:
        return {"model": self.name, "prompt": self.style, "first": "word", **setting.recipe}

    def responses(self, items: Sequence[Grounded], setting: Setting) -> list[GeneratedResponse]:
        """A response to each item's document and history; the item's own response is not read."""
        return self.sweep(items, [setting])[setting]

    def sweep(self, items: Sequence[Grounded], settings: Sequence[Setting]) -> dict[Setting, list[GeneratedResponse]]:
        """The responses with each setting. Progress is in tokens; all the work is known before any is done."""
        keys = {setting: self._keys(items, setting) for setting in settings}
        found = self.store.get([digest for some in keys.values() for digest in some])
        context = functools.cache(self.context)  # settings have their contexts in common
        work = {}
        for setting, some in {setting.plain: keys[setting] for setting in settings}.items():
            missing = {digest: item for digest, item in zip(some, items, strict=True) if digest not in found}
            work[setting] = {digest: context(item, setting.max_tokens) for digest, item in missing.items()}
        total = sum(_tokens(one, setting) for setting, some in work.items() for one in some.values())
        done = 0
        with bar("generating") as progress:
            for setting, contexts in work.items():
                order = list(contexts)
                lengths = [_tokens(contexts[digest], setting) for digest in order]
                beams = setting.beams if "beam" in setting.mode else 1
                for batch in plan_batches(lengths, Room(ROOM.items, max(1, ROOM.units // beams))):
                    asked = [order[place] for place in batch]
                    rows = list(zip(asked, self._encode_items([contexts[one] for one in asked], setting), strict=True))
                    self.store.put(self.name, rows)
                    found.update(rows)
                    done += sum(lengths[place] for place in batch)
                    progress(done, total)
        return {setting: [_DECODER.decode(found[digest]) for digest in some] for setting, some in keys.items()}

    def _keys(self, items: Sequence[Grounded], setting: Setting) -> list[bytes]:
        recipe = recipe_text(self.recipe(setting.plain))
        return [key("respond", recipe, self.files.identity, item.document, *item.history) for item in items]

    def _encode_items(self, contexts: Sequence[Context], setting: Setting) -> list[bytes]:
        """Generated responses as the store keeps them."""
        tokenizer, model, _ = self.loaded
        ends, silent = self.marked_tokens
        padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        rows = decode(model, [one.prompt for one in contexts], setting, padding=padding, ends=ends, silent=silent)
        encoded = []
        for tokens, context in zip(rows, contexts, strict=True):
            text = str(tokenizer.decode(tokens, skip_special_tokens=True)).strip()
            said = text.split("\n")[0].strip() if self.style == "plain" else text
            encoded.append(msgspec.msgpack.encode(GeneratedResponse(said, len(tokens), context.dropped)))
        return encoded

    def context(self, item: Grounded, max_tokens: int) -> Context:
        """The item in tokens, with its document and without, and room for a response."""
        _, model, limit = self.loaded
        written = self._chat if self.style == "chat" else self._plain
        if model.config.is_encoder_decoder:  # what it writes does not stand behind what it reads
            room, most = limit, _positions(model.config)
        else:
            room, most = limit - max_tokens, limit - 1
        if most is not None and max_tokens > most:
            raise UserError(f"{max_tokens} tokens are more than '{self.name}' reads", hint=f"generate {most} at most")
        with tokenizing(self.name):
            given, dropped = written(item.history, item.document, room)
            alone, _ = written(item.history, None, room)
        return Context(Prompt(tuple(given), tuple(alone)), dropped)

    def _plain(self, history: Sequence[str], document: str | None, room: int) -> tuple[list[int], int]:
        tokenizer, model, _ = self.loaded
        pieces = [] if document is None else [DOCUMENT.format(document)]
        pieces.append(HISTORY.format("\n".join(history)))
        pieces += [] if model.config.is_encoder_decoder else [ANSWER]
        ids = [tokenizer(replace_surrogates(piece), add_special_tokens=False)["input_ids"] for piece in pieces]
        before, after = self._marks()
        kept, dropped = truncate_context(ids, room - len(before) - len(after), -1 if document is None else 0)
        return [*before, *kept, *after], dropped

    def _chat(self, history: Sequence[str], document: str | None, room: int) -> tuple[list[int], int]:
        tokenizer, _, _ = self.loaded
        written = self._conversation(history)
        if document is None:
            ids = written(TASK)
            return ids[-room:], max(0, len(ids) - room)
        ids = written(_format_document(replace_surrogates(document)))
        over = len(ids) - room
        if over > 0:
            tokens = tokenizer(replace_surrogates(document), add_special_tokens=False)["input_ids"]
            ids = written(_format_document(tokenizer.decode(tokens[: max(0, len(tokens) - over)])))
        return ids[-room:], max(0, over)

    def _conversation(self, history: Sequence[str]) -> Callable[[str], list[int]]:
        """Puts a task into a conversation: as the system's message, or else before the user's first message.

        Some templates refuse a system, some leave it out without a word, some refuse an assistant who speaks first.
        """
        roles = ["user" if (len(history) - place) % 2 else "assistant" for place in range(len(history))]
        said = [{"role": role, "content": replace_surrogates(turn)} for role, turn in zip(roles, history, strict=True)]

        def by_system(task: str) -> list[int]:
            return self._apply_template([{"role": "system", "content": task}, *said])

        def by_user(task: str) -> list[int]:
            if roles and roles[0] == "user":
                return self._apply_template([{"role": "user", "content": f"{task}\n\n{said[0]['content']}"}, *said[1:]])
            return self._apply_template([{"role": "user", "content": task}, *said])

        refused = UserError(f"the template of '{self.name}' leaves out what it is given", hint=PLAIN)
        for written in (by_system, by_user):
            try:
                if written(TASK) != written(GROUNDED):
                    return written
            except UserError as error:
                refused = error
        raise refused

    def _apply_template(self, messages: Sequence[dict[str, str]]) -> list[int]:
        """A template is a program of the model's author: it may fail in any way."""
        tokenizer, _, _ = self.loaded
        options: dict[str, Any] = {"add_generation_prompt": True, "tokenize": True, "return_dict": False}
        try:
            return list(tokenizer.apply_chat_template(list(messages), **options))
        except Exception as error:
            said = str(error).strip() or type(error).__name__
            what = f"the template of '{self.name}' does not take this conversation: {said}"
            raise UserError(what, hint=PLAIN) from error

    def _marks(self) -> tuple[list[int], list[int]]:
        """What an encoder has before and after a text; a decoder's prompt has nothing around it."""
        tokenizer, model, _ = self.loaded
        if not model.config.is_encoder_decoder:
            return [], []
        inner = tokenizer("a", add_special_tokens=False)["input_ids"]
        whole = tokenizer("a")["input_ids"]
        start = next((place for place in range(len(whole)) if whole[place : place + len(inner)] == inner), 0)
        return whole[:start], whole[start + len(inner) :]

    @cached_property
    def marked_tokens(self) -> tuple[Any, Any]:
        """Masks of the tokens that end a response of this style (None: only the model's own), and that begin none."""
        tokenizer, model, _ = self.loaded
        size = model.config.get_text_config(decoder=True).vocab_size
        texts = tokenizer.batch_decode([[token] for token in range(min(size, len(tokenizer)))])
        texts += [""] * (size - len(texts))
        lines = torch.tensor(["\n" in text for text in texts])
        silent = lines | torch.tensor([not text.strip() for text in texts])
        silent[[token for token in tokenizer.all_special_ids if token < size]] = True
        return (lines if self.style == "plain" else None), silent

    @cached_property
    def loaded(self) -> LoadedModel:
        folder = self.files.folder()
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        kind = "AutoModelForSeq2SeqLM" if config.is_encoder_decoder else "AutoModelForCausalLM"
        tokenizer, model = load(self.files, kind)
        if self.style == "chat" and not tokenizer.chat_template:
            raise UserError(f"'{self.name}' has no template for conversations", hint=PLAIN)
        own = model.generation_config
        # Nothing else that a model may bring along, such as penalties, changes the text.
        model.generation_config = transformers.GenerationConfig(
            eos_token_id=tokenizer.eos_token_id if own.eos_token_id is None else own.eos_token_id,
            decoder_start_token_id=own.decoder_start_token_id,
            forced_bos_token_id=own.forced_bos_token_id,
            forced_eos_token_id=own.forced_eos_token_id,
        )
        return LoadedModel(tokenizer, model, reach(tokenizer, model.config, LANGUAGE))


def _tokens(context: Context, setting: Setting) -> int:
    return len(context.prompt.given) + setting.max_tokens


def _format_document(document: str) -> str:
    return GROUNDED.format(document).rstrip()


def _positions(config: Any) -> int | None:
    """How many tokens a decoder beside an encoder writes, where it has a table of positions."""
    own = config.get_text_config(decoder=True)
    found = [getattr(own, name, None) for name in ("max_decoder_position_embeddings", "max_position_embeddings")]
    return next((int(number) for number in found if isinstance(number, int) and number > 0), None)
