"""Chat about a text: supported sentences as people say them, and the same with something of the speaker's own.

A response may ask, greet or agree around what the text says and is still supported. An opinion, an experience or a fact
from elsewhere is not, and neither is a remark that says nothing about the text.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from training.nli.data import Pair
from training.nli.documents import UNSUPPORTED

COMMON = frozenset("The A An It In There This He She They Its His Her".split())
BEFORE = (
    "Yes, ", "Well, ", "I read that ", "Did you know that ", "It says here that ", "Apparently ", "Oh, ",
    "Sure! ", "Hi! ", "Yeah, ", "From what I understand, ", "Actually, ", "That is right, ", "I heard that ",
    "Good question. ", "Hello! ", "As far as I know, ", "Right, ", "Interesting! ", "Absolutely, ",
    "I found out that ", "Indeed, ", "So, ",
)  # fmt: skip
AFTER = (
    " What do you think?", " Have you heard of that?", " Isn't that interesting?", " Did you know that?",
    " Pretty cool, right?", " Would you like to know more?", " How about you?",
    " Do you know anything else about it?", " Hope that helps!",
    " Is there anything else you would like to know?", " Does that answer your question?",
    " That is interesting.",
)  # fmt: skip
OWN = (
    "I love that.", "I went there last summer with my family.", "My brother is a big fan.",
    "I have never liked it much.", "It is my favorite of all time.", "I remember watching it as a kid.",
    "My grandmother used to talk about it.", "I think they should have done more.", "I wish I could afford one.",
    "I tried it once and it was great.", "Everybody at my work talks about it.",
    "I saw a documentary about it last night.", "Honestly I think it is overrated.",
    "I bet it was really expensive.", "My kids cannot get enough of it.", "I used to live close to there.",
    "I would love to meet them one day.", "I guess most people do not care about that.",
    "It must have been very hard.", "I am a huge fan of theirs.", "I have two of them at home.",
    "They are the best in the world.", "It always makes me cry.", "I studied it in college.",
    "I think it is so sad.", "I met one of them at an airport.", "I would never do that.",
)  # fmt: skip
EMPTY = (
    "I like that too!", "What kind of music do you listen to?", "Not really, what about you?",
    "That is a tough one.", "Do you have any pets?", "I am doing well, thanks for asking.",
    "I am not sure about that.", "Wow, I did not know that!", "Me too, I can never get enough.",
    "Have a great day!", "What do you do for fun?", "That is so true!", "Tell me more.",
    "I have not seen it. Is it any good?", "It was nice to chat with you.",
    "I do not know much about it, to be honest.",
)  # fmt: skip


def lower_first(sentence: str) -> str:
    """The sentence as it follows an opening: a small letter for words that are not names."""
    small = sentence.split(maxsplit=1)[0] in COMMON
    return sentence[:1].lower() + sentence[1:] if small else sentence


def wrap_claim(claim: str, rng: random.Random) -> str:
    """The claim inside what people say around it."""
    claim = claim.strip()
    before = rng.choice(BEFORE) if rng.random() < 0.7 else ""
    text = before + lower_first(claim) if before.endswith((", ", "that ", "Apparently ")) else before + claim
    if before == "Did you know that ":
        text = text.rstrip(".") + "?"
    return text + (rng.choice(AFTER) if not before or rng.random() < 0.4 else "")


def chat_pairs(claims: Sequence[Pair], rng: random.Random, count: int) -> Iterator[Pair]:
    """Supported and unsupported chat about the premises of supported claims."""
    supported = [pair for pair in claims if pair.label == "entailment" and 5 < len(pair.hypothesis.split()) < 30
                 and pair.hypothesis[:1].isupper() and pair.hypothesis.endswith(".")]  # fmt: skip
    for pair in rng.choices(supported, k=count):
        draw, other = rng.random(), rng.choice(supported)
        if draw >= 0.65 and other.premise == pair.premise:
            continue
        text, label = wrap_claim(pair.hypothesis, rng), UNSUPPORTED
        if draw < 0.45:
            label = "entailment"
        elif draw < 0.65:
            parts = [text, rng.choice(OWN)]
            text = " ".join(parts if rng.random() < 0.7 else parts[::-1])
        elif draw < 0.78:
            text = f"{text} {other.hypothesis}"
        elif draw < 0.92:
            text = wrap_claim(other.hypothesis, rng)
        else:
            text = rng.choice(EMPTY) if rng.random() < 0.5 else f"{rng.choice(OWN)}{rng.choice(AFTER)}"
        yield Pair(pair.premise, text, label, "chat")
