"""The phrases that the rules exchange: each group says one thing in several ways.

Written for this purpose, by hand. Every member of a group may stand for every other in a request to an assistant
without any slot changing its value: no group holds a place, a time, a number, a price or a kind of thing, and the
members of a group have the same number of negations.
"""

from __future__ import annotations

Phrases = tuple[str, ...]

OPENERS: tuple[Phrases, ...] = (
    ("yes", "yeah", "yep", "yup"),
    ("no", "nope", "nah"),
    ("okay", "ok", "alright", "all right"),
    ("great", "excellent", "wonderful", "fantastic", "awesome", "brilliant", "lovely"),
    ("perfect", "excellent", "wonderful", "splendid"),
    ("cool", "nice", "great"),
    ("good", "great", "very good"),
    ("fine", "all right", "okay"),
    ("sure", "of course", "certainly"),
    (
        "thanks", "thank you", "many thanks", "thanks a lot", "thank you so much", "thanks so much",
        "thank you very much",
    ),
    ("hi", "hello", "hey", "hi there", "hello there", "good day"),
    ("sorry", "apologies", "my apologies"),
    ("I see", "got it", "understood"),
    ("also", "in addition", "besides that"),
    ("maybe", "perhaps"),
    ("exactly", "precisely"),
    ("correct", "that is right", "that is correct"),
    ("right", "that is right", "that is correct"),
    ("absolutely", "definitely"),
)  # fmt: skip
ONLY_AS_OPENER = frozenset(
    ("actually", "ah", "and", "but", "first", "hmm", "now", "oh", "so", "then", "well", "wow")
)  # fmt: skip

# Whole clauses; a clause that equals one of them (or one of the second list) becomes another of the first.
SAME: tuple[tuple[Phrases, Phrases], ...] = (
    (
        (
            "that is correct", "that is right", "you have got it right", "everything is correct",
            "all of that is correct", "the details are right", "I confirm that",
        ),
        (
            "it is correct", "it is right", "you are right", "you are correct", "that is all correct", "i confirm",
            "that's correct", "this is correct", "everything is right", "all correct", "that is exactly right",
            "everything looks correct", "you got it", "you got it right", "this is right", "that is true",
            "it is all correct", "that all is correct", "everything is fine", "all that is correct",
            "that looks right", "that looks correct",
        ),
    ),
    (
        (
            "that works for me", "sounds good", "that sounds good to me", "I am happy with that", "that suits me",
            "I am fine with that", "that will do nicely",
        ),
        (
            "that works", "that is good", "that sounds good", "sounds good to me", "that is fine",
            "that is fine with me", "that will work", "that would work", "works for me", "that would be fine",
            "that is okay", "that is ok", "that sounds fine", "that suits me well", "that is fine by me",
            "fine by me", "it is good", "it is fine", "that seems good", "that seems fine", "that sounds nice",
            "seems nice", "it is nice", "that should work", "that will be good", "that would be good",
            "that would be cool", "that would be nice", "that would be just fine", "that is acceptable", "seems good",
            "this seems nice", "that sounds cool", "that is cool", "it is fine for me", "it is good for me",
            "that would be good for me", "that is good with me", "that is alright", "that is all right",
            "sounds alright", "sounds okay", "that sounds okay", "it sounds nice", "looks good", "that looks good",
            "looks good to me", "it works for me", "it sounds good", "this works", "this is good", "this is fine",
            "fine with me", "that is okay with me", "that will work for me", "that would work for me", "good with me",
            "sounds fine", "that seems nice", "that is nice", "sounds nice", "it works", "that will be fine",
            "it suits me", "i am okay with that", "i am ok with that", "that one works", "that will do",
            "that is good for me", "it is okay", "it is ok",
        ),
    ),
    (
        (
            "that sounds great", "that is perfect", "that would be great", "I love the sound of that",
            "that is just right for me", "that could hardly be better", "that is exactly what I want",
        ),
        (
            "sounds great", "it is perfect", "that is great", "that sounds perfect", "sounds perfect",
            "that sounds awesome", "this is perfect", "sounds great to me", "that sounds great to me",
            "sounds perfect to me", "it sounds great", "that would be perfect", "sounds very good",
            "that sounds very good", "that is awesome", "that sounds wonderful", "sounds wonderful", "sounds awesome",
            "it is great", "that is perfect for me", "that works great", "that sounds lovely", "that is wonderful",
            "that is excellent", "that sounds excellent", "sounds excellent", "i like the sound of that",
            "that sounds amazing", "that is fantastic", "that sounds perfect to me", "that works perfectly",
            "this is great", "it sounds perfect", "that sounds fantastic", "that would be awesome",
            "that will be great", "that is what i need", "that is exactly what i need", "that is just what i need",
            "sounds perfect for me", "that is what i want", "that is exactly what i was looking for",
            "that is what i was looking for", "it is awesome", "that sounds perfect for me", "that is amazing",
            "i like that", "i like it",
        ),
    ),
    (
        (
            "that is all", "that is everything", "that will be all", "that would be everything", "I am all set",
            "we are done here",
        ),
        (
            "that is all i need", "that would be all", "that is all for now", "that is it for now",
            "that is all i needed", "that was all", "it is all", "that is everything i need",
            "that is all that i need", "i am good", "that is all i want", "that was it", "that was all i needed",
            "that would be all for now", "that is all for me", "that is it for today", "that will be all i need",
            "that will be all for today", "that will be it", "i am done", "that is all i wanted", "this is all",
            "that is all for today", "that will be all for now", "that will be everything",
            "that is everything for now", "that would be it", "that is what i needed", "that was everything",
            "i am good for now", "i have everything i need", "that is all i need for now",
            "that is all i wanted to know", "that is all i need to know",
        ),
    ),
    (
        ("goodbye", "bye", "bye for now", "take care", "see you"),
        ("good bye", "bye bye", "bye now", "see ya"),
    ),
    (
        ("have a nice day", "have a great day", "enjoy your day", "have a lovely day", "have a wonderful day"),
        ("have a good day", "have a good one", "have a great one"),
    ),
    (
        ("not right now", "not at the moment", "not just now", "not for now", "not at present"),
        ("not now", "not at this time", "not at the present time", "not presently", "not at this moment"),
    ),
    (
        ("not yet", "not just yet", "not so far"),
        (),
    ),
    (
        ("please do", "go ahead, please", "please go ahead", "please proceed", "go for it"),
        (
            "go ahead", "do it", "proceed", "please do that", "do that", "you can go ahead", "please do so",
            "let us do it", "let us do that", "let us go ahead",
        ),
    ),
    (
        ("I do not need anything else", "there is nothing else that I need", "nothing else is needed"),
        (
            "i do not need anything more", "i need nothing else", "there is nothing else", "nothing else",
            "i do not need anything further", "nothing more", "i do not need any more help",
            "i do not need anything else right now", "i do not need anything else for now",
        ),
    ),
    (
        ("you have been very helpful", "you have been a great help", "you were a big help"),
        (
            "you have been helpful", "you were a great help", "you have been of great help",
            "you have been a big help", "you were very helpful", "you have been so helpful", "that was very helpful",
            "that is very helpful", "you have been really helpful", "you have been most helpful",
            "you are very helpful",
        ),
    ),
    (
        ("I appreciate it", "I am grateful", "much appreciated"),
        (
            "i really appreciate it", "i appreciate that", "i appreciate it very much", "i really appreciate that",
            "i appreciate it a lot",
        ),
    ),
    (
        ("good to know", "that is useful to know", "it helps to know that", "that is helpful"),
        ("nice to know", "great to know"),
    ),
    (
        (
            "is there anything else", "do you have anything else", "are there any other options",
            "what other options are there", "do you have other suggestions", "could you suggest something else",
        ),
        (
            "what else is there", "anything else", "what else do you have", "are there any others", "any others",
            "are there any alternatives", "what else is available", "do you have something else",
            "is there something else", "are there any other ones", "do you have any others", "any other options",
            "what other options do you have", "what else can you find", "what else did you find",
            "what others did you find", "what else can you recommend", "what else", "what else you got",
            "what else have you got", "is there anything different", "something else",
            "do you have any other options", "are there other options", "can you find something else",
            "find something else", "can you find another one", "do you have another one", "is there another one",
            "what are my other options", "can you find me something else", "find me something else",
            "could you find something else", "can you find anything else", "can you suggest something else",
            "do you have any alternatives", "are there others", "what others are there",
            "do you have anything different", "what else do you recommend", "show me something else",
            "is there any other option", "do you have any other suggestions", "any alternatives",
            "any other suggestions", "what else can you suggest", "can you find some other options",
            "can you show me something else",
        ),
    ),
    (
        ("who is the director", "who directed it", "who was it directed by"),
        (
            "who directed this movie", "who is the director of the movie", "who is the director of this movie",
            "who directed the movie",
        ),
    ),
    (
        ("I am not sure", "I do not know", "I cannot say"),
        ("not sure",),
    ),
    (
        ("I changed my mind", "I have reconsidered", "I have thought again"),
        ("i have changed my mind",),
    ),
    (
        ("maybe later", "perhaps later", "possibly later"),
        ("may be later",),
    ),
    (
        ("how much is it", "what does it cost", "how much does it cost", "what is the price", "what is the cost"),
        (
            "how much", "how much would it cost", "what would it cost", "how much would it be", "what is its price",
            "how much will it cost", "how much will it be", "what will it cost", "how expensive is it",
            "what is the price of it",
        ),
    ),
    (
        ("how much is that", "what does that cost", "how much does that cost"),
        (
            "how much would that be", "how much will that be", "how much will that cost", "how much would that cost",
            "how much is this", "how much will this cost", "how much will this be", "how much does this cost",
        ),
    ),
    (
        ("what is the total", "how much is it in total", "what does it come to", "how much is it altogether"),
        (
            "what is the total cost", "what is the total price", "what would the total cost be",
            "how much will it be in total", "total cost", "total price", "what is the total amount",
            "what would the total be", "how much will it cost in total",
        ),
    ),
    (
        ("where is it", "where is it located", "where would I find it", "what is the location"),
        (
            "where is this", "where is that", "where is the place", "where can i find it", "where exactly is it",
            "where is that located", "where is this located", "where is it exactly",
        ),
    ),
    (
        ("where are they", "where are they located", "where would I find them"),
        ("where are they exactly", "where are they situated", "where exactly are they"),
    ),
    (
        ("what is the address", "which address is it", "at what address is it"),
        ("what is its address",),
    ),
    (
        (
            "what is the phone number", "which number can I call", "what number do I call",
            "what is the telephone number",
        ),
        ("what is the contact number", "what number can i call", "what phone number can i call", "phone number"),
    ),
    (
        (
            "what is their phone number", "which number can I reach them on", "how do I reach them by phone",
            "what is their telephone number",
        ),
        (
            "what is their number", "how can i contact them", "what is their contact number", "how can i reach them",
            "what number can i reach them at", "how can i call them", "what is the number to call them",
        ),
    ),
)  # fmt: skip

THANKS: Phrases = (
    "thanks", "thank you", "many thanks", "thanks a lot", "thank you very much", "thank you so much",
    "thanks so much",
)  # fmt: skip
THANKS_HELP: Phrases = (
    "I appreciate your help", "thanks for helping me", "I am grateful for your help", "thank you for helping me out",
    "I appreciate the assistance", "thanks for all the help", "many thanks for your assistance",
)  # fmt: skip
