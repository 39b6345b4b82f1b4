"""Made-up yes-or-no properties, said and denied in many ways: what entailment is really needed for.

SGD's training services have two dozen boolean slots, too few to learn negation from. These sentences are a small
grammar of our own. Slots that only SGD's test services have (garage, laundry in the unit, insurance, luggage,
visibility of payments, trip protection) are left out on purpose, so that figures on unseen services stay honest.
Non-stop flights are in: how a connecting flight is said is the standard example.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from troth.core.records import Act, Service, SlotSchema

THINGS = (
    "parking|free parking|a swimming pool|a gym|free breakfast|air conditioning|a balcony|room service|an elevator|"
    "a bar|a playground|wheelchair access|valet parking|a spa|a rooftop terrace|central heating|a dishwasher|cable tv|"
    "a sea view|a fireplace|a fully equipped kitchen|an airport shuttle|charging stations|a vegan menu|"
    "gluten free dishes|takeout|home delivery|a dress code|a kids menu|happy hour|a private dining room|extra legroom|"
    "power outlets|in-flight meals|onboard internet|a dining car|a warranty|a gift shop|guided tours|an audio guide|"
    "lockers|a cloakroom|public restrooms|a picnic area|live sports|a dance floor|karaoke|a wine list|high chairs|"
    "online booking|walk-in appointments|evening appointments|female doctors|emergency care|x-ray facilities|"
    "a loyalty program|student discounts|group discounts|a money back guarantee|free cancellation|a minibar|"
    "bicycle storage|a garden|security cameras|a doorman|double glazing|solar panels|hardwood floors|closed captions|"
    "an english dub|bonus scenes|a roof rack|cruise control|bluetooth|heated seats|child seats|unlimited mileage"
).split("|")
ALLOWED = (
    "dogs|cats|parties|children|visitors|outside food|photography|late checkout|early check-in|bicycles|skateboards|"
    "drinking|barbecues|flash photography|large groups|overnight guests|loud music|cash payments|online returns|"
    "name changes|date changes|camping|fishing|drones|swimming|strollers|musical instruments|extra beds|subletting"
).split("|")
ADDED = (
    "a baby seat|a wake-up call|priority boarding|a meal plan|gift wrapping|express shipping|text notifications|"
    "seat selection|airport pickup|a navigation system|a second driver|a reminder|a window seat|a vegetarian meal|"
    "flowers in the room|a bottle of champagne|lounge access|a tour guide|audio description|repeat mode|shuffle|"
    "a translator|an early alarm|roadside help|a late checkout|a rollaway bed|a tasting menu|a cake|a receipt by mail"
).split("|")


class Quality(NamedTuple):
    """A property with words for each side: denying one is saying the other."""

    name: str
    about: str
    descriptions: tuple[str, ...]
    yes: tuple[str, ...]
    no: tuple[str, ...]


def _quality(name: str, about: str, descriptions: str, yes: str, no: str) -> Quality:
    return Quality(name, about, tuple(descriptions.split("|")), tuple(yes.split("|")), tuple(no.split("|")))


QUALITIES = (
    _quality("is_nonstop|nonstop_flight|direct|direct_flight_only", "flight",
        "Whether the flight is a direct one|Is the flight nonstop|If the flight has no stops|Boolean flag indicating "
        "if the flight is non-stop|Does it fly directly to the destination",
        "it is a direct flight|it is nonstop|the flight has no layovers|it flies there directly|there are no stops on "
        "the way|a direct flight leaves in the morning|it has 0 stops|a non-stop flight with this airline is available",
        "it is a connecting flight|it has one layover|there is a stop on the way|it is not a direct flight|the flight "
        "makes 1 stop|it is not nonstop|with a layover|you would have to change planes|a connecting flight leaves in "
        "the morning|it has 2 stops"),
    _quality("free_of_charge|no_cost|admission_free", "entrance",
        "Whether entrance is free|Is there no charge for entry|If visitors get in for free|Boolean flag indicating "
        "whether admission is free of charge",
        "admission is free|there is no entrance fee|you do not have to pay|it costs nothing to get in|it's free|"
        "there's no charge", "there is an entrance fee|you have to buy a ticket|you need to pay to get in|entry is not "
        "free|it isn't free|they charge for admission|it is a paid attraction"),
    _quality("is_furnished|comes_furnished", "apartment",
        "Whether the apartment is furnished|Is it furnished|If the place comes with furniture",
        "it is furnished|it comes with furniture|it is fully furnished|furniture is included",
        "it is unfurnished|it is not furnished|it comes without furniture|there is no furniture"),
    _quality("can_be_refunded|refundable_ticket|refund", "ticket",
        "Whether the ticket can be refunded|Is the booking refundable|If you can get the money back",
        "it is refundable|you can get a refund|it is fully refundable|your money can be refunded",
        "it is non-refundable|it is not refundable|you cannot get a refund|no refunds are given"),
    _quality("automatic|is_automatic|automatic_transmission", "car",
        "Whether the car has an automatic transmission|Is it an automatic|If the vehicle is an automatic",
        "it is an automatic|it has an automatic transmission", "it is a manual|it has a stick shift|it is not an "
        "automatic|you would have to shift gears yourself"),
    _quality("open_now|currently_open|is_open", "shop", "Whether the shop is open now|Is it currently open|Open or not",
        "it is open now|they are open|it's still open|their doors are open", "it is closed|they are closed right now|"
        "it isn't open|it has already shut for today|they are not open"),
    _quality("is_outdoors|outdoor_event|open_air", "event", "Whether the event takes place outdoors|Is it an open-air "
        "event|If it is outside", "it takes place outdoors|it is an open-air event|it is outside|it is held outdoors",
        "it takes place indoors|it is inside|it is an indoor event|it is not outdoors"),
    _quality("electric|is_electric|electric_vehicle", "car", "Whether the car is electric|Is it an electric vehicle",
        "it is electric|it is an electric car|it runs on electricity", "it is not electric|it runs on gas|it has a "
        "petrol engine|it is a diesel"),
    _quality("is_shared|pooled|shared_with_others", "ride", "Whether it is shared with others|Do you share it with "
        "other people|If others ride along", "it is shared with others|you will share it with other people|it is a "
        "pooled one|other people ride along", "it is not shared|you have it for yourself|it is a private one|nobody "
        "else will be with you|you don't want to share it"),
    _quality("round_trip|is_round_trip|return_included", "ticket", "Whether it is a round trip|Is the way back "
        "included|If a return is included", "it is a round trip|it includes the way back|it's a return ticket",
        "it is one way|it is a one-way ticket|the way back is not included|it is not a round trip"),
    _quality("is_new|brand_new", "phone", "Whether it is new|Is the item brand new|If it has not been used before",
        "it is brand new|it has never been used|it is new", "it is used|it is second-hand|it is not new|it is a "
        "pre-owned one"),
    _quality("crowded|is_busy|busy", "place", "Whether the place is crowded|Is it busy|If there are many people",
        "it is crowded|it gets busy|there are many people|it is packed", "it is quiet|it is not crowded|it is not "
        "busy|there are few people|it's rather empty"),
    _quality("kid_friendly|suitable_for_children|child_friendly", "place", "Whether the place is suitable for "
        "children|Is it good for kids|If you can take children along", "it is good for kids|it is child-friendly|"
        "children will like it|you can take kids there|it's a great place for the family", "it is not good for kids|"
        "it is not suitable for children|children would not enjoy it|it is for adults only"),
    _quality("sold_out|is_sold_out|no_tickets_left", "show", "Whether the show is sold out|Are all tickets gone",
        "it is sold out|there are no tickets left|all tickets are gone", "there are still tickets|it is not sold out|"
        "tickets are available|you can still get tickets"),
    _quality("next_day|arrives_next_day|overnight", "train", "Whether it arrives the next day|Does it travel "
        "overnight|If the arrival is on the following day", "it arrives the next day|you get there the day after|it "
        "travels overnight|the arrival is on the following day", "it arrives on the same day|it gets there the same "
        "day|it does not travel overnight|you arrive on the day of departure"),
    _quality("accepting_patients|new_patients|takes_new_patients", "doctor", "Whether the doctor takes new patients|"
        "Is the practice accepting new patients", "they take new patients|they are accepting patients|new patients "
        "are welcome", "they do not take new patients|they are full|they are not accepting patients right now"),
    _quality("in_english|has_english_audio", "movie", "Whether the movie is in English|Is it in English",
        "it is in English|the audio is English", "it is not in English|it is in French|the audio is Korean"),
    _quality("explicit|has_explicit_lyrics", "song", "Whether the song has explicit lyrics|Is the song explicit",
        "it has explicit lyrics|it is explicit", "it is not explicit|the lyrics are clean|it has no explicit lyrics"),
    _quality("recurring|repeats_weekly|is_recurring", "alarm", "Whether it repeats|Is it recurring|If it comes back "
        "every week", "it repeats every week|it is recurring|it will ring every day", "it does not repeat|it rings "
        "only once|it is a one-time alarm|it is not recurring"),
    _quality("is_urgent|urgent|high_priority", "message", "Whether it is urgent|Is it marked as high priority",
        "it is urgent|it is marked as high priority|it cannot wait", "it is not urgent|it has low priority|it can "
        "wait|there is no hurry"),
)  # fmt: skip

HAS = ("there is {x}", "it has {x}", "they do have {x}", "it comes with {x}", "they offer {x}", "you get {x} there",
       "{x} is available", "{x} is included", "they have {x}", "{x} is provided", "you will find {x}", "it offers {x}",
       "yes, they have {x}", "yes, there is {x}")  # fmt: skip
HAS_NOT = ("there is no {n}", "it does not have {x}", "they don't have {x}", "it comes without {n}", "no {n}",
           "they do not offer {x}", "{x} is not available", "{x} is not included", "it lacks {x}", "there isn't {x}",
           "unfortunately there is no {n}", "sorry, they have no {n}", "you won't find {x} there",
           "no, there is no {n}",
           "it doesn't offer {x}", "without {n}")  # fmt: skip
MAY = ("{x} are allowed", "{x} are permitted", "they allow {x}", "{x} are welcome", "{x} are fine", "they permit {x}",
       "yes, {x} are allowed", "{x} are okay", "they are fine with {x}", "{x} are accepted",
       "they accept {x}")  # fmt: skip
MAY_NOT = ("{x} are not allowed", "{x} are not permitted", "they do not allow {x}", "no {x} are allowed", "no {x}",
           "{x} are prohibited", "they don't permit {x}", "{x} are forbidden", "sorry, no {x} allowed", "{x} aren't "
           "welcome", "they don't accept {x}", "they are strict about no {x}", "{x} are not accepted")  # fmt: skip
WANT = ("you want {x}", "you would like {x}", "you would like to add {x}", "including {x}", "with {x}", "{x} included",
        "you need {x}", "{x} is to be added", "you asked for {x}", "plus {x}", "and add {x}")  # fmt: skip
WANT_NOT = ("you do not want {x}", "you don't need {x}", "without {n}", "{x} is not needed", "with no {n}",
            "you opted out of {n}", "no {n}", "{x} is not included", "not including {x}", "you said no to {n}",
            "you won't need {x}", "and leave out {x}", "you declined {n}")  # fmt: skip

AROUND = ("The phone number is {p}", "The address is {a}", "The rating is {r}", "It costs ${c}", "Your booking is "
          "confirmed", "It is in {city}", "The name is {name}", "I found {k} options", "It starts at {t}",
          "Your reservation has been made", "I was not able to book it", "It has a rating of {r}", "The price is ${c}",
          "It is {k} miles away", "{name} is a nice place in {city}", "It leaves at {t}")  # fmt: skip
CONFIRMS = ("Please confirm: {k} tickets to {city} at {t}", "You are booking {name} for ${c}", "You want to reserve "
            "{name} in {city} at {t}", "Confirming {k} people at {t}", "So that is {name} on March {k}",
            "Please confirm the following details: {city}, {t}, {k} people")  # fmt: skip
NAMES = "Blue Lagoon|The Old Mill|Casa Verde|Harbor House|Maple Court|Sunset Grill|Red Barn|City Lights".split("|")
CITIES = "Oakland|Portland|Fresno|Seattle|Lyon|Toronto|Denver|Boston|Perth|Madrid".split("|")


class Property(NamedTuple):
    """A yes-or-no slot, what it is about, and the ways to say and to deny it."""

    about: str
    slot: SlotSchema
    yes: Sequence[str]
    no: Sequence[str]


class Said(NamedTuple):
    """An utterance, an act that is to be judged by it, and whether it holds."""

    utterance: str
    act: Act
    service: Service
    label: str


def make(rng: random.Random) -> Said:
    """One judged utterance: one or two properties said or denied among other things; asked about one, or a third."""
    confirm = rng.random() < 0.3
    first, second, third = (_property(rng, confirm=confirm) for _ in range(3))
    held = [(first, rng.random() < 0.5)]
    if rng.random() < 0.35 and second.about != first.about:
        held.append((second, rng.random() < 0.5))
    utterance = _utterance([rng.choice(p.yes if holds else p.no) for p, holds in held], rng, confirm=confirm)
    if rng.random() < 0.12 and third.about not in (first.about, second.about):
        return Said(utterance, *_act(third.slot, rng.random() < 0.5, confirm=confirm), "neutral")
    about, holds = rng.choice(held)
    asked = rng.random() < 0.5
    label = "entailment" if asked == holds else "contradiction"
    return Said(utterance, *_act(about.slot, asked, confirm=confirm), label)


def _act(slot: SlotSchema, yes: bool, *, confirm: bool) -> tuple[Act, Service]:
    return Act("CONFIRM" if confirm else "INFORM", slot.name, (str(yes),), (str(yes),)), Service("", slots=(slot,))


def _property(rng: random.Random, *, confirm: bool) -> Property:
    roll = rng.random()
    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    if confirm and roll < 0.75:
        x = rng.choice(ADDED)
        names = ("add_{s}", "{s}", "wants_{s}", "include_{s}", "{s}_yes_no", "with_{s}", "needs_{s}")
        descriptions = (
            "Whether to add {x}", "Whether to include {x}", "If the user wants {x}",
            "Boolean flag indicating if {x} is desired", "{x} requested or not", "Does the customer need {x}?",
            "Whether {x} should be added, for a fee", "Add {x} (yes/no)",
        )  # fmt: skip
        return _built(x, names, descriptions, WANT, WANT_NOT, rng)
    if roll < 0.4:
        quality = rng.choice(QUALITIES)
        slot = _slot(rng.choice(quality.name.split("|")), rng.choice(quality.descriptions))
        return Property(quality.about + quality.name, slot, quality.yes, quality.no)
    if roll < 0.8:
        x = rng.choice(THINGS)
        names = ("has_{s}", "{s}", "{s}_available", "offers_{s}", "{s}_yes_no", "is_{s}_available", "with_{s}")
        descriptions = (
            "Whether the place has {x}", "Boolean flag indicating if {x} is available", "Is there {x}?",
            "Whether it offers {x} or not", "Does it have {x}", "If {x} is available", "{x} available (yes/no)",
            "Indicates whether {x} is provided",
        )  # fmt: skip
        return _built(x, names, descriptions, HAS, HAS_NOT, rng)
    x = rng.choice(ALLOWED)
    names = ("{s}_allowed", "allows_{s}", "{s}_permitted", "{s}", "{s}_welcome", "are_{s}_allowed")
    descriptions = (
        "Whether {x} are allowed", "Boolean flag indicating if {x} are allowed", "Are {x} permitted?",
        "If the place allows {x}", "Whether or not {x} are allowed inside", "Is it friendly to {x} or not",
    )  # fmt: skip
    return _built(x, names, descriptions, MAY, MAY_NOT, rng)


def _built(
    x: str, names: Sequence[str], descriptions: Sequence[str], yes: Sequence[str], no: Sequence[str], rng: random.Random
) -> Property:
    bare = x.removeprefix("a ").removeprefix("an ")
    s = bare.replace(" ", "_").replace("-", "_")
    slot = _slot(rng.choice(names).format(s=s), rng.choice(descriptions).format(x=x))
    return Property(x, slot, [form.format(x=x, n=bare) for form in yes], [form.format(x=x, n=bare) for form in no])


def _slot(name: str, description: str) -> SlotSchema:
    return SlotSchema(name, description[:1].upper() + description[1:], True, ("True", "False"))


def _utterance(clauses: list[str], rng: random.Random, *, confirm: bool) -> str:
    filler = {
        "p": f"{rng.randint(200, 999)}-{rng.randint(200, 999)}-{rng.randint(1000, 9999)}",
        "a": f"{rng.randint(1, 900)} {rng.choice(('Main', 'Oak', 'Hill', 'Market'))} Street",
        "r": f"{rng.randint(20, 50) / 10}",
        "c": str(rng.randint(9, 400)),
        "k": str(rng.randint(1, 10)),
        "t": f"{rng.randint(1, 12)}:{rng.randint(0, 5)}0 {rng.choice(('am', 'pm'))}",
        "city": rng.choice(CITIES),
        "name": rng.choice(NAMES),
    }
    around = [text.format(**filler) for text in rng.sample(CONFIRMS if confirm else AROUND, rng.choice((0, 1, 1, 1)))]
    parts = around + clauses if confirm or rng.random() < 0.6 else clauses + around
    joins = [". ", ", and ", " and ", ", "]
    if len(clauses) == 2:
        joins.append(" but ")
    text = parts[0]
    for part in parts[1:]:
        join = rng.choice(joins)
        text += join + (part[:1].upper() + part[1:] if join == ". " else part)
    end = rng.choice((".", ".", "", "?", " Is that right?")) if confirm else rng.choice((".", ".", ".", ""))
    return text[:1].upper() + text[1:] + end
