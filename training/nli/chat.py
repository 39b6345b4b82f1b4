"""Chat about a text, sentence by sentence, as `nli` asks about it.

A supported claim may follow an opening ("Did you know that …?") and stays supported. With an opinion or an experience
of the speaker in the same sentence it does not. A question, an agreement or an opinion alone claims nothing that the
text says, however near its topic is.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence

from training.nli.data import Pair
from training.nli.documents import UNSUPPORTED

COMMON = frozenset("The A An It In There This He She They Its His Her".split())
BEFORE = (
    "Yes, ", "Well, ", "Did you know that ", "It says here that ", "Apparently ", "Oh, ", "Sure, ", "Hi, ", "Yeah, ",
    "Actually, ", "That is right, ", "Hello, ", "Right, ", "Interesting, ", "Absolutely, ", "Indeed, ", "So, ",
    "Oh wow, ", "Yeah and ", "No, ", "Good question, ", "Of course, ", "True, ", "Exactly, ",
)  # fmt: skip
OWN_BEFORE = (  # before a claim: the speaker tells of himself, too
    "I have never been there but ", "No, I have not, but ", "Yes I do, and ", "I love it and ", "I like it because ",
    "I have never heard of it but ", "I am not sure but I think ", "I have seen it too, and ", "I went there once and ",
    "My favorite part is that ", "I was surprised that ", "I wish I knew more but ", "No I don't but ", "I hope that ",
    "I love how ", "My friend says that ", "I remember that when I was a kid ", "I was just thinking that ",
)  # fmt: skip
OWN = (  # joined to a claim, or alone
    "I love that", "I went there last summer with my family", "my brother is a big fan", "I have never liked it much",
    "it is my favorite of all time", "I remember watching it as a kid", "my grandmother used to talk about it",
    "I think they should have done more", "I wish I could afford one", "I tried it once and it was great",
    "everybody at my work talks about it", "I saw a documentary about it last night", "it is overrated",
    "I bet it was really expensive", "my kids cannot get enough of it", "I used to live close to there",
    "I would love to meet them one day", "I guess most people do not care about that", "it must have been very hard",
    "I am a huge fan of theirs", "I have two of them at home", "they are the best in the world", "it made me cry",
    "I studied it in college", "I think it is so sad", "I met one of them at an airport", "I would never do that",
)  # fmt: skip
JOINED = (", and ", ", ", ", so ", " but ")
REMARKS = (
    "I like that too!", "What kind of music do you listen to?", "Not really, what about you?", "That is a tough one.",
    "Do you have any pets?", "I am doing well, thanks for asking.", "I am not sure about that.", "Have a great day!",
    "Wow, I did not know that!", "Me too, I can never get enough.", "What do you do for fun?", "That is so true!",
    "Tell me more.", "I have not seen it.", "Is it any good?", "It was nice to chat with you.", "Yes.", "Yeah.", "No.",
    "I do not know much about it, to be honest.", "What do you think?", "Have you heard of that?", "Isn't that crazy?",
    "Did you know that?", "Pretty cool, right?", "Would you like to know more?", "How about you?", "I agree.", "I do!",
    "Hope that helps!", "Does that answer your question?", "That is interesting.", "Yes I do.", "No, I don't.", "Okay.",
    "It is.", "That's true.", "Oh that is true.", "What is it about?", "When was that?", "Who is he?", "Sure.",
    "Can I help you with anything else?", "Let me know if you need more.", "You are welcome!", "Nope.", "Really?",
    "Good question.", "Thank you!", "That is awesome!", "No kidding.", "I know, right?", "Would you agree?", "Ha!",
)  # fmt: skip
ABOUT = (  # a name of the text
    "Do you like {}?", "Do you know {}?", "Have you heard of {}?", "What do you think about {}?", "I love {}!",
    "Do you know much about {}?", "I like {} too.", "{} is my favorite.", "I have never heard of {}.", "Who is {}?",
    "Are you a fan of {}?", "You know who {} is?", "What can you tell me about {}?", "I am a big fan of {}.",
    "Do you want to hear about {}?", "Let us talk about {}.", "Have you ever seen {}?", "I think of {} a lot.",
    "Hi, do you know anything about {}?", "When did you first hear about {}?", "I do not care for {}.",
)  # fmt: skip
_NAME = re.compile(r"(?<=\s)[A-Z]\w{3,}(?: [A-Z]\w+)*")
_BE = re.compile(r"^((?:The |An? )?\w+(?: \w+)?) (is|was|are|were|has|can) (.+)\.$")


def lower_first(sentence: str) -> str:
    """The sentence as it follows an opening: a small letter for words that are not names."""
    small = sentence.split(maxsplit=1)[0] in COMMON
    return sentence[:1].lower() + sentence[1:] if small else sentence


def wrap_claim(claim: str, rng: random.Random) -> str:
    """The claim after what people say before it, in one sentence."""
    before = rng.choice(BEFORE)
    text = before + lower_first(claim.strip())
    return text.rstrip(".") + "?" if before == "Did you know that " else text


def ask_claim(claim: str, rng: random.Random) -> str:
    """A question about what the claim says."""
    inside = lower_first(claim.strip().rstrip("."))
    if (match := _BE.match(claim.strip())) and rng.random() < 0.6:
        verb = match[2].capitalize()
        return f"{verb} {lower_first(match[1])} {match[3]}?" if verb != "Has" else f"Do you know if {inside}?"
    return rng.choice(("Do you know if {}?", "Is it true that {}?", "I wonder whether {}.", "Do you think {}?")).format(
        inside
    )


def remark(pair: Pair, rng: random.Random) -> str:
    """A sentence that claims nothing that the text says."""
    names = _NAME.findall(pair.premise)
    draw = rng.random()
    if names and draw < 0.45:
        return rng.choice(ABOUT).format(rng.choice(names))
    if draw < 0.6:
        return ask_claim(pair.hypothesis, rng)
    if draw < 0.7:
        own = rng.choice(OWN)
        return own[:1].upper() + own[1:] + rng.choice((".", "!"))
    return rng.choice(REMARKS)


def chat_pairs(claims: Sequence[Pair], rng: random.Random, count: int) -> Iterator[Pair]:
    """Supported and unsupported chat about the premises of supported claims."""
    supported = [pair for pair in claims if pair.label == "entailment" and 5 < len(pair.hypothesis.split()) < 30
                 and pair.hypothesis[:1].isupper() and pair.hypothesis.endswith(".")]  # fmt: skip
    for pair in rng.choices(supported, k=count):
        draw, other = rng.random(), rng.choice(supported)
        if draw < 0.4:
            text, label = wrap_claim(pair.hypothesis, rng), "entailment"
        elif draw < 0.48:
            text, label = pair.hypothesis.rstrip(".") + rng.choice(JOINED) + rng.choice(OWN) + ".", UNSUPPORTED
        elif draw < 0.55:
            text, label = rng.choice(OWN_BEFORE) + lower_first(pair.hypothesis.strip()), UNSUPPORTED
        elif draw < 0.65:
            if other.premise == pair.premise:
                continue
            text, label = wrap_claim(other.hypothesis, rng), UNSUPPORTED
        else:
            text, label = remark(pair, rng), "neutral"
        yield Pair(pair.premise, text, label, "chat")
