"""The embedded entailment model beside the same weights run one pair at a time in transformers; and the cache.

The pairs are those that SGSAcc asks on the bundled dialogues, with the repetitions that it has.
"""

from __future__ import annotations

from benchmarks import timing

PAIRS = """
import sys
from troth import demo, readers
from troth.responses import sgsacc
gold = str(demo.path("gold"))
schema = readers.schema(gold + "/schema.json")
turns = [turn for dialogue in readers.gold(gold) for turn in sgsacc.system_turns(dialogue, schema)]
asked = [sgsacc.question(due, turn.gold, turn.previous) for turn in turns for due in turn.acts]
pairs = [(text, told) for one in asked for text in (one.text, one.augmented) for told in one.hypotheses]
"""

OURS = """
import time
from troth.models.embedded import EmbeddedNli
nli = EmbeddedNli()
nli.probabilities(pairs[:1])
start = time.perf_counter()
found = nli.probabilities(pairs)
print(time.perf_counter() - start, len(pairs), len(set(pairs)))
print(*(verdict.entailment for verdict in found[:200]))
"""

ONE_AT_A_TIME = """
import time
import numpy as np, onnx, torch
from onnx import numpy_helper
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification
from troth.models.embedded import FOLDER
held = {t.name: numpy_helper.to_array(t) for t in onnx.load(FOLDER / "model.onnx").graph.initializer}
weights = {}
model = BertForSequenceClassification(BertConfig(hidden_size=384, intermediate_size=1536, num_hidden_layers=6,
                                                 num_attention_heads=12, num_labels=3)).eval()
for name, parameter in model.state_dict().items():
    if name + ".int8" in held:
        value = held[name + ".int8"].astype(np.float32) * held[name + ".scale"]
        linear = "embeddings" not in name and name != "bert.pooler.dense.weight"
        weights[name] = torch.tensor(value.T.copy() if linear else value)
    elif name in held:
        weights[name] = torch.tensor(held[name])
model.load_state_dict(weights, strict=False)
assert {name for name in model.state_dict() if "position_ids" not in name} <= set(weights), "weights are missing"
tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
tokenizer.no_padding()
tokenizer.enable_truncation(256)
found = []
with torch.inference_mode():
    start = time.perf_counter()
    for pair in pairs:
        encoded = tokenizer.encode(*pair)
        logits = model(input_ids=torch.tensor([encoded.ids]), attention_mask=torch.tensor([encoded.attention_mask]),
                       token_type_ids=torch.tensor([encoded.type_ids])).logits
        found.append(float(logits.softmax(-1)[0, 0]))
    print(time.perf_counter() - start, len(pairs), len(set(pairs)))
print(*found[:200])
"""

CACHE = """
import tempfile, time
from troth.models.cached import CachedNli
from troth.models.fake import FakeNli
from troth.storage.cache import Store
pairs = [(f"{premise} {n}", told) for n in range(40) for premise, told in dict.fromkeys(pairs)]
with tempfile.TemporaryDirectory() as folder:
    first = CachedNli(FakeNli(), Store.at(folder + "/scores.sqlite")).probabilities(pairs)
    model = FakeNli()
    again = CachedNli(model, Store.at(folder + "/scores.sqlite"))
    start = time.perf_counter()
    second = again.probabilities(pairs)
    print(time.perf_counter() - start, len(pairs))
    assert first == second and not model.asked
"""


def main() -> None:
    ours = timing.python(PAIRS + OURS, repeat=3)
    peer = timing.python(PAIRS + ONE_AT_A_TIME, repeat=1)
    (seconds, asked, distinct), mine = _read(ours.out)
    (slow, *_), theirs = _read(peer.out)
    apart = max(abs(a - b) for a, b in zip(mine, theirs, strict=True))
    timing.show(
        "entailment: pairs that SGSAcc asks on the bundled dialogues",
        [
            (f"troth, {asked:.0f} pairs ({distinct:.0f} different)", f"{asked / seconds:.0f} pairs/s"),
            ("the same weights in transformers, one pair at a time", f"{asked / slow:.0f} pairs/s"),
            ("ratio", f"{slow / seconds:.1f}x, probabilities apart by at most {apart:.0e}"),
        ],
    )
    (took, many), _ = _read(timing.python(PAIRS + CACHE, repeat=3).out)
    timing.show("a second run, from the cache", [(f"{many:.0f} pairs", f"{many / took:.0f} pairs/s")])


def _read(out: str) -> tuple[list[float], list[float]]:
    lines = [[float(word) for word in line.split()] for line in out.splitlines()]
    return lines[0], lines[1] if len(lines) > 1 else []
