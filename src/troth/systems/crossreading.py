"""The networks of SGP-DST and of SGD's baseline. They answer the queries of `span`, and give the same outputs."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from troth.systems.span.batches import PADDING, SYSTEM, USER
from troth.systems.span.decode import SCORES
from troth.systems.span.examples import Status
from troth.systems.span.memory import FLAGS
from troth.systems.span.network import POINT, Outputs, bert_layer

AT_ONCE = 128  # texts of the schema that are read with their turns together
FAR = -1e4  # the score of what cannot be


class CrossNetwork(nn.Module):  # type: ignore[misc]
    """Reads each query of the schema together with its turn."""

    def __init__(self, encoder: Any, dropout: float, padding: int) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        self.encoder, self.padding = encoder, padding
        self.flag, self.dropout = nn.Linear(FLAGS, width), nn.Dropout(dropout)
        # The sub-models. A slot has one for its status and for whether the system gives a value.
        self.intent, self.requested, self.value = nn.Linear(width, 1), nn.Linear(width, 1), nn.Linear(width, 2)
        self.slot, self.point = nn.Linear(width, len(Status) + 1), nn.Linear(width, 4)
        self.carry_from, self.carry_at = nn.Linear(width, POINT), nn.Linear(width, POINT)

    def read_words(self, ids: Tensor, segments: Tensor) -> Tensor:  # noqa: ARG002
        """Nothing is read without the schema."""
        return ids[..., None]

    def ask(self, words: Tensor, segments: Tensor, rows: tuple[Tensor, ...]) -> Outputs:
        """`words` are tokens of turns; `rows` are the arrays of `Inputs` from `turn` on, with tokens as vectors."""
        turn, texts, kinds, flags, sources = rows
        row, query = (kinds >= 0).nonzero(as_tuple=True)
        packed = self._pack(words[..., 0].long(), segments, (turn[row], texts[row, query].long()))
        parts = zip(*(one.split(AT_ONCE) for one in packed), strict=True)
        states = torch.cat([self._read(*part) for part in parts])
        first = self.dropout(states[:, 0] + self.flag(flags[row, query]))
        scores = torch.cat([self.slot(first), self.requested(first), self.value(first), self.intent(first)], dim=-1)
        places = self.point(states[:, : words.shape[1]]).permute(0, 2, 1)  # of each query: four scores of each token
        queries = _spread(self.carry_from(first), kinds, row, query, 0.0)
        carried = queries @ self._source_keys(sources).transpose(1, 2) / POINT**0.5
        empty = (sources == 0).all(-1)[:, None, :]
        return Outputs(
            _spread(scores, kinds, row, query, 0.0),
            _allow(_spread(places, kinds, row, query, FAR).permute(2, 0, 1, 3), segments, turn),
            carried.masked_fill(empty, FAR),
        )

    def _pack(self, ids: Tensor, segments: Tensor, asked: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """[CLS] system [SEP] user [SEP] text [SEP] without gaps: tokens, which of them count, which are the text's."""
        turn, texts = asked
        begin = (segments != PADDING).sum(1)[turn, None]
        end = begin + (texts > 0).sum(1, keepdim=True)
        place = torch.arange(int(end.max()))[None].expand(len(turn), -1)
        said = ids[turn].gather(1, place.clamp(max=ids.shape[1] - 1))
        asked_for = texts.gather(1, (place - begin).clamp(0, texts.shape[1] - 1))
        mask, second = place < end, (place >= begin) & (place < end)
        return torch.where(second, asked_for, said).masked_fill(~mask, self.padding), mask, second

    def _read(self, ids: Tensor, mask: Tensor, second: Tensor) -> Tensor:
        types = {"token_type_ids": second.long()} if getattr(self.encoder.config, "type_vocab_size", 1) > 1 else {}
        states: Tensor = self.encoder(input_ids=ids, attention_mask=mask.long(), **types).last_hidden_state
        return states.float()

    def _source_keys(self, sources: Tensor) -> Tensor:
        """What stands for the slots of other services: the mean over the words of their texts."""
        known = (sources > 0)[..., None].float()
        words = self.encoder.get_input_embeddings()(sources.long()).float() * known
        return self.carry_at(words.sum(2) / known.sum(2).clamp(min=1))


class BaselineNetwork(nn.Module):  # type: ignore[misc]
    """The two utterances as one vector and as tokens; the schema as vectors of the frozen encoder."""

    def __init__(self, encoder: Any, upper: int, dropout: float) -> None:
        super().__init__()
        width = encoder.config.hidden_size
        layers = encoder.encoder.layer[max(0, len(encoder.encoder.layer) - upper) :]
        self.layers = nn.ModuleList(copy.deepcopy(layer).requires_grad_() for layer in layers)
        self.vector, self.dropout = nn.Linear(width, width), nn.Dropout(dropout)
        self.both, self.scores = nn.Linear(2 * width, width), nn.Linear(width, SCORES)
        self.token, self.slot, self.point = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 4)

    def read_words(self, states: Tensor, segments: Tensor) -> Tensor:
        for layer in self.layers:
            states = bert_layer(layer, states, segments != PADDING)
        return states

    def ask(self, words: Tensor, segments: Tensor, rows: tuple[Tensor, ...]) -> Outputs:
        turn, vectors, _, _, sources = rows
        queries = self.dropout(self.vector(vectors))
        heard = words[turn, 0][:, None].expand_as(queries)
        scores = self.scores(functional.gelu(self.both(torch.cat([heard, queries], dim=-1))))
        status = torch.zeros(SCORES, dtype=torch.bool)
        status[Status.CARRY] = True  # no other service is known
        tokens = self.token(words)[turn][:, None] + self.slot(queries)[:, :, None]
        places = self.point(functional.gelu(tokens)).permute(3, 0, 1, 2)
        carried = vectors.new_full((*vectors.shape[:2], sources.shape[1]), FAR)
        return Outputs(scores.masked_fill(status, FAR), _allow(places, segments, turn), carried)


def _spread(values: Tensor, kinds: Tensor, row: Tensor, query: Tensor, empty: float) -> Tensor:
    """Values of single queries as a table of rows by queries."""
    table = values.new_full((*kinds.shape, *values.shape[1:]), empty)
    return table.index_put((row, query), values)


def _allow(places: Tensor, segments: Tensor, turn: Tensor) -> Tensor:
    """Scores of positions: the first two among the user's words, the others among the system's."""
    allowed = torch.stack([segments == whose for whose in (USER, USER, SYSTEM, SYSTEM)])[:, turn, None, :]
    return places.masked_fill(~allowed, FAR)
