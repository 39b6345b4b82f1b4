"""A process that asks a cached backend for pairs and may be killed: `python -m tests.models.worker FILE LOG FROM TO`.

The backend is slow and writes to LOG what it computes, batch by batch, when a batch is done. Prints a digest of the
verdicts.
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Sequence

from troth.models import Entailment, TextPair
from troth.models.cached import CachedNli
from troth.models.fake import FakeNli
from troth.storage.cache import Store


class Slow(FakeNli):
    def __init__(self, log: str, delay: float) -> None:
        super().__init__()
        self.log, self.delay = log, delay

    def probabilities(self, pairs: Sequence[TextPair]) -> list[Entailment]:
        time.sleep(self.delay * len(pairs))
        verdicts = super().probabilities(pairs)
        with open(self.log, "ab") as file:
            file.write("".join(f"{hypothesis}\n" for _, hypothesis in pairs).encode())
        return verdicts


def pair(number: int) -> TextPair:
    return f"room {number % 7} and table {number % 13} " + "word " * (number % 5), f"table {number}"


def main(file: str, log: str, first: str, end: str, delay: str = "0.0001", forked: str = "") -> None:
    pairs = [pair(number) for number in range(int(first), int(end))]
    model = CachedNli(Slow(log, float(delay)), Store(file))
    if forked:
        model.probabilities(pairs[:10])
        child = os.fork()
        verdicts = model.probabilities(pairs)
        if not child:
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    else:
        verdicts = model.probabilities(pairs)
    sys.stdout.write(hashlib.sha256(repr(verdicts).encode()).hexdigest())


if __name__ == "__main__":
    main(*sys.argv[1:])
