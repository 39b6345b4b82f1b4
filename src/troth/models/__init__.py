"""Models behind the metrics: protocols, backends by name, and the cache of answers around them."""

from troth.models.backends import BACKENDS, Backend, backend_for, chat_name, forms, lm, nli, uncached_lm, uncached_nli
from troth.models.protocols import Continuation, Entailment, Lm, Nli, Request, TextPair
from troth.storage.cache import DEFAULT_CACHE

__all__ = [
    "BACKENDS", "DEFAULT_CACHE", "Backend", "Continuation", "Entailment", "Lm", "Nli", "Request", "TextPair",
    "backend_for", "chat_name", "forms", "lm", "nli", "uncached_lm", "uncached_nli",
]  # fmt: skip
