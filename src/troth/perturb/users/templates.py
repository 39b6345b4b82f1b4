"""Frames to say a clause in, and words to exchange inside it; how they are chosen is in frames.py and rules.py.

Written by hand, under the same rule as the phrasebook: all templates of one tuple ask, want or say the same of `{x}`
(what it is about), `{v}` (a verb with what follows it) or `{c}` (the content of a question: "the address", "where it
is"). `{s}` is "I" or "we", `{am}`, `{was}` and `{me}` agree with it.
"""

from __future__ import annotations

from typing import NamedTuple

MASK = "[\ue000-\uf8ff]"  # one character for each value that may not be touched


class Said(NamedTuple):
    """A clause, and its mood: s statement, i imperative, q request in the form of a question, w question proper,
    f anything short, p the same with a please at its end."""

    mood: str
    text: str


Out = tuple[str, str]  # mood and template
Phrases = tuple[str, ...]

SEARCH: tuple[Out, ...] = (
    ("q", "can you find me {x}"), ("q", "could you look for {x}"), ("q", "could you help me find {x}"),
    ("q", "would you search for {x}"), ("q", "would you mind finding me {x}"),
    ("q", "would you be able to find me {x}"), ("s", "I am looking for {x}"), ("s", "I am trying to find {x}"),
    ("s", "I would like to find {x}"), ("s", "I was hoping you could find me {x}"),
    ("s", "I could use some help finding {x}"), ("s", "I am searching for {x}"), ("s", "I want to find {x}"),
    ("i", "please find me {x}"), ("i", "please look for {x}"), ("i", "please search for {x}"),
    ("i", "help me find {x}"),
)  # fmt: skip
WANT: tuple[Out, ...] = (
    ("s", "{s} would like {x}"), ("s", "{s} want {x}"), ("s", "{s} need {x}"), ("s", "{s} would like to have {x}"),
    ("s", "what {s} want is {x}"), ("s", "what {s} need is {x}"),
)  # fmt: skip
WANT_A: tuple[Out, ...] = (
    ("s", "{s} {am} looking for {x}"), ("q", "could you find {me} {x}"), ("q", "can you help {me} find {x}"),
    ("s", "{s} {am} hoping to find {x}"), ("s", "{s} {am} after {x}"),
)  # fmt: skip
WANT_TO: tuple[Out, ...] = (
    ("s", "{s} would like to {v}"), ("s", "{s} want to {v}"), ("s", "{s} {am} hoping to {v}"),
    ("s", "{s} {was} hoping to {v}"), ("s", "{s} wish to {v}"), ("s", "{s} {am} looking to {v}"),
    ("s", "what {s} want is to {v}"),
)  # fmt: skip
WANT_TO_DO: tuple[Out, ...] = (
    ("q", "could you help {me} {v}"), ("q", "can you help {me} {v}"), ("s", "{s} need you to help {me} {v}"),
    ("i", "please help {me} {v}"),
)  # fmt: skip
PLAN: tuple[Out, ...] = (
    ("s", "{s} plan to {v}"), ("s", "{s} {am} planning to {v}"), ("s", "{s} intend to {v}"),
    ("s", "the plan is to {v}"),
)  # fmt: skip
REQUEST: tuple[Out, ...] = (
    ("q", "can you {v}"), ("q", "could you {v}"), ("q", "would you {v}"), ("q", "would you be able to {v}"),
    ("q", "do you think you could {v}"), ("i", "please {v}"), ("s", "I was hoping you could {v}"),
    ("s", "I would like you to {v}"), ("s", "I want you to {v}"), ("s", "it would be great if you could {v}"),
)  # fmt: skip
HELP: tuple[Out, ...] = (
    ("q", "could you help me {p} {x}"), ("q", "can you give me a hand {p} {x}"),
    ("s", "I could use some help {p} {x}"), ("s", "I need some assistance {p} {x}"),
    ("s", "I would like some help {p} {x}"),
)  # fmt: skip
ASK: tuple[Out, ...] = (
    ("q", "could you tell me {c}"), ("q", "can you let me know {c}"), ("q", "do you know {c}"),
    ("q", "would you mind telling me {c}"), ("s", "I would like to know {c}"), ("s", "I want to know {c}"),
    ("i", "please tell me {c}"), ("i", "let me know {c}"), ("q", "may I ask {c}"),
)  # fmt: skip
WONDER: tuple[Out, ...] = (  # not before a noun
    ("s", "I was wondering {c}"), ("s", "I am curious {c}"),
)  # fmt: skip
MAY_I: tuple[Out, ...] = (
    ("q", "could I {v}"), ("q", "may I {v}"), ("q", "can I {v}"), ("q", "would it be possible to {v}"),
    ("s", "I would like to {v}"), ("q", "is it possible for me to {v}"),
)  # fmt: skip
BARE: tuple[Out, ...] = (
    ("p", "{x}, please"), ("s", "let's say {x}"), ("s", "that would be {x}"),
)  # fmt: skip
JUST: tuple[Out, ...] = (
    ("s", "I only need {x}"), ("f", "only {x}"), ("f", "just {x}"), ("s", "I just need {x}"),
)  # fmt: skip
IS_THERE: tuple[Out, ...] = (
    ("w", "is there {x}"), ("q", "do you know of {x}"), ("w", "do you have {x}"),
)  # fmt: skip
ARE_THERE: tuple[Out, ...] = (
    ("w", "are there {x}"), ("q", "do you know of {x}"), ("w", "do you have {x}"),
)  # fmt: skip
SUITS: tuple[Out, ...] = (
    ("s", "{x} works for me"), ("s", "I am happy with {x}"), ("s", "{x} will do nicely"), ("s", "{x} suits me"),
    ("s", "I am fine with {x}"),
)  # fmt: skip
LIKE: tuple[Out, ...] = (
    ("s", "I quite like {x}"), ("s", "I am keen on {x}"), ("s", "I like the sound of {x}"),
)  # fmt: skip
INTEREST: tuple[Out, ...] = (
    ("s", "I would be interested in {x}"), ("s", "I am keen on {x}"), ("s", "what interests me is {x}"),
)  # fmt: skip
PREFER: tuple[Out, ...] = (
    ("s", "I would rather have {x}"), ("s", "my preference is {x}"), ("s", "I would prefer {x}"),
    ("s", "my choice would be {x}"),
)  # fmt: skip
GOING: tuple[Out, ...] = (
    ("s", "{s} {am} headed to {x}"), ("s", "{s} will be travelling to {x}"), ("s", "{s} {am} heading to {x}"),
    ("s", "the trip is to {x}"),
)  # fmt: skip
LEAVING: tuple[Out, ...] = (
    ("s", "{s} {am} departing {x}"), ("s", "{s} will be departing {x}"), ("s", "{s} will depart {x}"),
    ("s", "{s} plan to leave {x}"), ("s", "{s} {am} setting off {x}"),
)  # fmt: skip
LOVE: tuple[Out, ...] = (
    ("s", "I am a big fan of {x}"), ("s", "I really enjoy {x}"), ("s", "I am very keen on {x}"),
)  # fmt: skip
DESTINATION: tuple[Out, ...] = (
    ("s", "{s} {am} headed to {x}"), ("s", "{s} {am} going to {x}"), ("s", "{s} will be travelling to {x}"),
)  # fmt: skip
PLAN_ON: tuple[Out, ...] = (
    ("s", "my plan is {x}"), ("s", "{s} {am} planning on {x}"),
)  # fmt: skip
TAKE: tuple[Out, ...] = (
    ("s", "{s} will go with {x}"), ("s", "let us go with {x}"), ("s", "{s} would like {x}"),
)  # fmt: skip
LET_US: tuple[Out, ...] = (
    ("q", "how about we {v}"), ("s", "we could {v}"), ("s", "I think we should {v}"),
)  # fmt: skip
NOT_TO: tuple[Out, ...] = (
    ("s", "I would rather not {v}"), ("s", "I do not wish to {v}"), ("s", "I am not looking to {v}"),
    ("s", "I would prefer not to {v}"),
)  # fmt: skip
ABOUT: tuple[Out, ...] = (
    ("w", "what about {x}"), ("w", "how about {x}"), ("w", "and what about {x}"),
)  # fmt: skip
FOR: tuple[Out, ...] = (
    ("s", "that would be for {x}"), ("s", "this is for {x}"), ("s", "I need it for {x}"),
)  # fmt: skip

# Words and short phrases inside a clause: (regular expression, what may stand for it). Never nouns that name a
# service's things, never adjectives that could be a value. `<M>` is a masked value.
INLINE: tuple[tuple[str, Phrases], ...] = (
    (r"help me find", ("help me locate", "help me look for")),
    (r"(?<=help )finding|(?<=help with )finding", ("locating",)),
    (r"search for|look for", ("look for", "search for")),
    (r"make a reservation (?=at|for|in|on)", ("make a booking ", "book a reservation ")),
    (r"reserve(?= (?:a|the|it|one|me|that|this|my|some|tickets|seats|room|rooms)\b)", ("book",)),
    (r"book(?= (?:a|the|it|one|that|this|my|some|tickets|rooms)\b)", ("reserve",)),
    (r"buy", ("purchase",)),
    (r"purchase(?= (?:a|the|it|some|tickets|\W)\b)", ("buy",)),
    (
        r"(?<!please )tell me(?= (?:the|their|its|what|where|how|when|if|whether|which|about|more)\b)",
        ("let me know",),
    ),
    (r"let me know about", ("tell me about",)),
    (r"give me(?= (?:the|their|its|more|some)\b)", ("let me have", "share with me")),
    (r"more information|more info|more details", ("further details", "further information")),
    (r"(?<!phone )(?<!contact )information", ("details",)),
    (r"phone number", ("telephone number",)),
    (r"as well(?=$)|too(?=$)", ("too", "as well")),
    (r"maybe", ("perhaps",)),
    (r"I think", ("I believe", "I guess")),
    (r"I guess", ("I suppose",)),
    (r"leaving from", ("departing from", "setting off from")),
    (r"departing from", ("leaving from",)),
    (r"(?<=will )(?:leave|depart) from", ("be leaving from", "be departing from")),
    (r"leave from", ("depart from", "set off from")),
    (r"(?:traveling|travelling) to", ("heading to", "going to")),
    (r"(?:am|will be) going to(?= <M>)", ("am heading to", "am travelling to", "am headed to")),
    (r"(?<=to )go to(?= <M>)", ("travel to", "get to", "head to")),
    (r"going out of", ("leaving",)),
    (r"come back", ("return",)),
    (r"(?<=to )get back|(?<=will )get back", ("return", "come back")),
    (r"pick it up", ("collect it",)),
    (r"(?<=to )pick up", ("collect",)),
    (r"get to know", ("learn",)),
    (r"check out(?= (?:the|some|that|this|a)\b)", ("take a look at", "have a look at")),
    (r"(?<=to )check(?= (?:the|my|if|for|what|how)\b)|(?<=you )check(?= (?:the|my|if|for|what|how)\b)", ("look up",)),
    (r"look up if", ("see whether", "find out if")),
    (r"look up for", ("look for",)),
    (r"see if|check if|find out if", ("see whether", "find out whether")),
    (r"what kind of", ("what type of", "what sort of")),
    (r"what type of", ("what kind of", "what sort of")),
    (r"any other", ("any alternative",)),
    (
        r"interested in(?= (?:seeing|going|finding|watching|eating|visiting|listening|hearing|attending)\b)",
        ("keen on",),
    ),
    (r"I have(?= (?:<M>|an?|the|some) )", ("I have got",)),
    (r"listen to", ("hear",)),
    (r"(?<=to )hear", ("listen to",)),
    (r"(?<!for )at the moment", ("right now", "for now")),
    (r"(?<!for )right now", ("at the moment", "for the moment")),
    (r"a lot of", ("plenty of",)),
    (r"lots of", ("plenty of", "many")),
    (r"really", ("truly",)),
    (r"(?<=would )love to", ("be glad to", "really like to")),
    (r"currently", ("at present",)),
    (r"pretty (?=good|nice|great)", ("quite ", "rather ")),
    (r"sounds good", ("seems good", "sounds fine")),
    (r"sounds great", ("sounds excellent", "sounds wonderful")),
    (r"in order to", ("so as to",)),
    (r"because", ("since",)),
    (r"since I", ("as I",)),
    (r"a friend of mine", ("one of my friends",)),
    (r"my friends and I", ("my friends and myself",)),
    (r"is also (?:okay|fine|ok)", ("would do, too",)),
    (r"is (?:fine|okay|ok)(?: with me| by me)?(?=$)", ("works for me", "will do", "suits me")),
    (r"by the way", ("incidentally",)),
    (r"need help with", ("could use help with",)),
    (r"(?<=what is )the cost of", ("the price of",)),
    (r"(?<=what is )the price of", ("the cost of",)),
    (r"movies", ("films",)),
    (r"movie", ("film",)),
)  # fmt: skip
