"""Models behind the metrics: protocols, backends by name, and the cache of answers around them."""

from troth.models.backends import BACKENDS, Backend, forms, lm, nli, of, uncached_lm, uncached_nli
from troth.models.protocols import Continuation, Entailment, Lm, Nli, Request, TextPair
from troth.storage.cache import USUAL

__all__ = [
    "BACKENDS", "USUAL", "Backend", "Continuation", "Entailment", "Lm", "Nli", "Request", "TextPair", "forms", "lm",
    "nli", "of", "uncached_lm", "uncached_nli",
]  # fmt: skip
