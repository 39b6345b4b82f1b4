"""Client of `troth serve`: asks before an answer is sent.

from troth.client import TrothClient

with TrothClient("http://127.0.0.1:8017") as troth:
    verdict = troth.ground(document="Breakfast is served until ten.", response="Breakfast ends at noon.")
    print(verdict.faithful, verdict.unsupported)
"""

from troth.client.answers import AnswerScore, AnswerWord, BatchedAnswer, SentenceAnswer, ServiceAnswer, ServiceError
from troth.client.asking import AsyncTrothClient, TrothClient

__all__ = [
    "AnswerScore",
    "AnswerWord",
    "AsyncTrothClient",
    "BatchedAnswer",
    "SentenceAnswer",
    "ServiceAnswer",
    "ServiceError",
    "TrothClient",
]
