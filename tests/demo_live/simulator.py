"""A user with a goal and a system that knows services, turn by turn."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from random import Random

from tests.demo_live.sentences import ANY, PART, SLOT, DeadEndError, Json, Line, Service, Values, act, slots_of

SERVICES = Path(__file__).parent / "services"
NUMBERS = {"2": "two", "3": "three", "4": "four", "5": "five", "6": "six"}
FEWEST, MOST = 3, 6  # turns of the user
PLANS = ({"request"}, {"book", "others"}, {"book", "slip"}, {"book", "any"}, {"direct"}, {"book", "change"})
AFTER = ({"request", "joined"}, {"book", "joined"})  # of the second service


class Simulator:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.common: Json = tomllib.loads((SERVICES / "common.toml").read_text("utf-8"))
        files = sorted(file for file in SERVICES.glob("*.toml") if file.stem != "common")
        self.services = {one.name: one for one in map(Service, files)}
        self.used: Counter[str] = Counter()

    def dialogues(self) -> list[Json]:
        """As many for each service as its file says, by one plan after the other, and one for each pair of services."""
        names = [name for name, one in self.services.items() for _ in range(one.data["dialogues"])]
        plans = [[(name, PLANS[number % len(PLANS)])] for number, name in enumerate(names)]
        pairs = [(joined["after"], name) for name, one in self.services.items() for joined in one.data["joined"]]
        for number, (first, second) in enumerate(pairs):
            plans.append([(first, {"book", "short"}), (second, AFTER[number % len(AFTER)])])
        self.rng.shuffle(plans)
        return [self.dialogue(f"live_{number:02}", plan) for number, plan in enumerate(plans, 1)]

    def dialogue(self, id: str, plan: Sequence[tuple[str, set[str]]]) -> Json:
        """The first dialogue by this plan that is neither too short nor too long."""
        most = MOST if plan[1:] else self.rng.choice((MOST - 1, MOST - 1, MOST))
        for _ in range(2000):
            used = self.used.copy()
            try:
                talk = Talk(self)
                for name, features in plan:
                    talk.follow(self.services[name], features)
            except DeadEndError:
                talk = Talk(self)
            if FEWEST <= len(talk.turns) // 2 <= most:
                return {"dialogue_id": id, "services": [name for name, _ in plan], "turns": talk.turns}
            self.used = used
        raise ValueError(f"no dialogue follows {plan}")

    def pick(self, templates: Iterable[str]) -> str:
        """One of the sentences, most likely one that was used less often than the others."""
        texts = list(templates)
        if not texts:
            raise DeadEndError
        (text,) = self.rng.choices(texts, [(1 + self.used[text]) ** -2 for text in texts])
        self.used[text] += 1
        return text

    def chance(self, share: float) -> bool:
        return self.rng.random() < share


class Talk:
    """One dialogue as it goes on."""

    def __init__(self, simulator: Simulator) -> None:
        self.sim, self.common = simulator, simulator.common
        self.turns: list[Json] = []
        self.states: dict[str, Values] = {}
        self.service = next(iter(simulator.services.values()))

    def follow(self, service: Service, plan: set[str]) -> None:
        carried = self.joined(service) if "joined" in plan else {}
        self.service, self.intent, self.offered = service, service.search, dict[str, str]()
        self.item: Values = {}
        self.facts: dict[tuple[str, str], str] = {}
        self.state = self.states.setdefault(service.name, {})
        self.goal = self.new_goal(plan, carried)
        if "direct" in plan:
            self.open("direct", service.book)
        else:
            self.open("openings", service.search, {"short", "joined"} & plan)
            self.offer("offers")
            if "others" in plan:
                self.user([self.line(self.common["others"])], [act("REQUEST_ALTS")])
                self.offer("others", other=True)
            if "change" in plan:
                self.change([self.line(self.common["changes"])], service.search, [])
                self.offer("offers", other=True)
            if "request" in plan:
                self.request()
            if "book" not in plan:
                self.user([self.line(self.common["thanks"])], [act("THANK_YOU")], "NONE")
                self.system([self.line(self.common["goodbyes"])], [act("GOODBYE")])
                return
            self.reserve()
        self.finish(plan)

    def joined(self, service: Service) -> Values:
        """The values that the service takes over from the one before."""
        (joined,) = (one for one in service.data["joined"] if one["after"] == self.service.name)
        self.templates = joined["openings"]
        return {slot: self.states[self.service.name][source] for slot, source in joined["carry"].items()}

    # -- values --------------------------------------------------------------------------------------------------------

    def new_goal(self, plan: set[str], carried: Values) -> Values:
        """What the user wants; only a plan with `any` has a slot that does not matter."""
        rng = self.sim.rng
        goal = self.goal = dict(rng.choice(self.service.data["items"])) | carried
        for slot in self.service.held:
            if slot not in goal:
                goal[slot] = self.value(slot)
        texts = json.dumps(self.service.data["text"]) + json.dumps(self.service.slots)
        open_slots = [slot for one in (self.service.search, self.service.book) for slot in one["optional"]]
        if "any" in plan and (free := sorted(slot for slot in open_slots if f"{{{slot}={ANY}|" in texts)):
            goal[rng.choice(free)] = ANY
        return goal

    def value(self, slot: str) -> str:
        spec = self.service.slots[slot]
        values: list[str] = spec.get("values") or self.common["values"].get(spec.get("pool")) or spec["possible"]
        taken = {*self.facts.values(), *self.goal.values()}
        return self.sim.rng.choice([value for value in values if value not in taken] or values)

    def fact(self, slot: str) -> str:
        """What is true of the thing at hand."""
        key = (json.dumps(self.item), slot)
        if key not in self.facts:
            self.facts[key] = self.item.get(slot) or self.value(slot)
        return self.facts[key]

    def find(self, *, other: bool) -> Values:
        """Something that agrees with the state."""
        known = {slot: value for slot, value in self.state.items() if value != ANY}
        fits = [
            item
            for item in self.service.data["items"]
            if all(known.get(slot, value) == value for slot, value in item.items()) and (not other or item != self.item)
        ]
        wanted = [item for item in fits if item.items() <= self.goal.items()]
        if not fits:
            raise DeadEndError
        return dict(self.sim.rng.choice(wanted or fits))

    # -- words ---------------------------------------------------------------------------------------------------------

    def line(self, templates: Iterable[str], values: Mapping[str, str] | None = None) -> Line:
        """A sentence that fits the values."""
        known = values or {}
        fits = [
            template
            for template in templates
            if all(slot in known and fixed in ("", known[slot]) for slot, fixed in slots_of(template).items())
            and all(fixed or known[slot] != ANY for slot, fixed in slots_of(template).items())
        ]
        return self.render(self.sim.pick(fits), known)

    def render(self, template: str, values: Mapping[str, str]) -> Line:
        def kept(part: re.Match[str]) -> str:
            return part[1] if all(values.get(found[2], ANY) != ANY for found in SLOT.finditer(part[1])) else ""

        line, at, template = Line(), 0, PART.sub(kept, template)
        for found in SLOT.finditer(template):
            before, slot, fixed, words, elsewhere = found.groups()
            line.text += template[at : found.start()]
            at = found.end()
            value = fixed or values[slot]
            if elsewhere:
                line.text, line.carried[slot] = line.text + elsewhere, value
                continue
            said = words or self.spoken(slot, value)
            if before == "a":
                line.text += "an " if said[0].lower() in "aeiou" else "a "
            elif before == "on" and not re.match("today|tomorrow|next |this ", value):
                line.text += "on "
            if not fixed and slot in self.service.slots and not self.service.is_closed(slot):
                line.spans.append((slot, len(line.text), len(line.text) + len(said)))
            line.text += said
            line.told[slot] = value
        line.text += template[at:]
        if line.text[0].islower() and any(start == 0 for _, start, _ in line.spans):
            raise DeadEndError  # a value stays as it is written
        line.text = line.text[0].upper() + line.text[1:]
        return line

    def spoken(self, slot: str, value: str) -> str:
        is_number = slot in self.service.slots and self.service.is_closed(slot) and value in NUMBERS
        return NUMBERS[value] if is_number and self.sim.chance(0.4) else value

    # -- turns ---------------------------------------------------------------------------------------------------------

    def say(self, speaker: str, lines: Sequence[Line], acts: Sequence[Json]) -> Json:
        line = sum(lines, Line())
        frame: Json = {
            "service": self.service.name, "actions": list(acts),
            "slots": [{"slot": slot, "start": start, "exclusive_end": end} for slot, start, end in line.spans],
        }  # fmt: skip
        self.turns.append({"speaker": speaker, "utterance": line.text, "frames": [frame]})
        return frame

    def system(self, lines: Sequence[Line], acts: Sequence[Json]) -> None:
        self.say("SYSTEM", lines, acts)

    def user(self, lines: Sequence[Line], acts: Sequence[Json], intent: str = "") -> None:
        line = sum(lines, Line())
        told = [act("INFORM", slot, value) for slot, value in line.told.items()]
        self.state.update(line.told | line.carried)
        self.say("USER", lines, [*acts, *told])["state"] = {
            "active_intent": intent or self.intent["name"],
            "requested_slots": sorted(one["slot"] for one in acts if one["act"] == "REQUEST"),
            "slot_values": {slot: [value] for slot, value in sorted(self.state.items())},
        }

    def open(self, kind: str, intent: Json, how: Iterable[str] = ()) -> None:
        """The user's first words, and what the system still has to know."""
        self.intent = intent
        templates = self.templates if "joined" in how else self.service.data["text"][kind]
        if "short" in how:
            templates = [one for one in templates if slots_of(one).keys() >= {*intent["required"]}]
        self.user([self.line(templates, self.goal)], [act("INFORM_INTENT", "intent", intent["name"])])
        self.ask(intent)

    def ask(self, intent: Json) -> None:
        optional = [slot for slot in intent["optional"] if self.goal[slot] == ANY or self.sim.chance(0.4)]
        for slot in (*intent["required"], *optional):
            if slot not in self.state:
                spec = self.service.slots[slot]
                self.system([self.line(spec["ask"])], [act("REQUEST", slot)])
                untold = {name: value for name, value in self.goal.items() if name not in self.state}
                self.user([self.line([one for one in spec["tell"] if slot in slots_of(one)], untold)], [])

    def offer(self, kind: str, *, other: bool = False) -> None:
        self.item = self.find(other=other)
        known = {slot: value for slot, value in self.state.items() if value != ANY}
        facts = {slot: self.fact(slot) for slot in self.service.search["results"] if slot not in known} | known
        line = self.line(self.service.data["text"][kind], facts)
        acts = [act("OFFER", slot, value) for slot, value in line.told.items()]
        lines = [line]
        if kind == "offers" and self.sim.chance(0.4):
            count = str(self.sim.rng.randrange(2, 6))
            found = self.line(self.common["counts"], {"count": count, "things": self.service.data["things"]})
            lines, acts = [Line(found.text), line], [act("INFORM_COUNT", "count", count), *acts]
        self.system(lines, acts)
        self.offered = line.told

    def request(self) -> None:
        asked = [name for name, slot in self.service.slots.items() if "wonder" in slot and name not in self.offered]
        if not asked:
            raise DeadEndError
        slots = self.sim.rng.sample(asked, 2 if asked[1:] and self.sim.chance(0.3) else 1)
        specs = [self.service.slots[slot] for slot in slots]
        self.user([self.line(spec["wonder"]) for spec in specs], [act("REQUEST", slot) for slot in slots])
        facts = {slot: self.fact(slot) for slot in slots}
        answers = [self.line(spec["answer"], facts) for spec in specs]
        self.system(answers, [act("INFORM", slot, value) for slot, value in facts.items()])

    def change(self, lines: Sequence[Line], intent: Json, acts: Sequence[Json]) -> None:
        """The user wants something else than was said."""
        searched = (*self.service.search["required"], *self.service.search["optional"])
        fixed = {*self.offered, *searched} if intent is self.service.book else set()
        slots = [
            slot
            for slot in (*intent["required"], *intent["optional"])
            if "change" in self.service.slots[slot] and slot not in fixed and self.state.get(slot, ANY) != ANY
        ]
        if not slots:
            raise DeadEndError
        slot = self.sim.rng.choice(slots)
        self.goal = {**self.goal, slot: self.value(slot)}
        self.user([*lines, self.line(self.service.slots[slot]["change"], self.goal)], acts)

    def reserve(self) -> None:
        """The user accepts the offer and goes on to book it."""
        self.intent = self.service.book
        accepted = {slot: value for slot, value in self.offered.items() if slot in self.service.held}
        self.state.update(accepted)
        self.goal |= accepted
        untold = {slot: value for slot, value in self.goal.items() if slot not in self.state}
        lines = [self.line(self.common["accepts"]), self.line(self.service.data["text"]["book"], untold)]
        self.user(lines, [act("SELECT"), act("INFORM_INTENT", "intent", self.intent["name"])])
        self.ask(self.intent)

    def finish(self, plan: set[str]) -> None:
        """The system asks for a confirmation, and the user gives it, perhaps after a change."""
        self.confirm()
        if "slip" in plan or ("direct" in plan and self.sim.chance(0.5)):
            self.change([self.line(self.common["slips"])], self.service.book, [act("NEGATE")])
            self.confirm()
        is_last = "joined" in plan or ("short" not in plan and self.sim.chance(0.5))
        agreed = [act("AFFIRM"), *([act("THANK_YOU")] if is_last else [])]
        self.user([self.line(self.common["last" if is_last else "agrees"])], agreed)
        done = self.line(self.service.data["text"]["done"])
        if is_last:
            self.system([done, self.line(self.common["goodbyes"])], [act("NOTIFY_SUCCESS"), act("GOODBYE")])
            return
        self.system([done, self.line(self.common["mores"])], [act("NOTIFY_SUCCESS"), act("REQ_MORE")])
        if "short" not in plan:
            self.user([self.line(self.common["enough"])], [act("NEGATE"), act("THANK_YOU")], "NONE")
            self.system([self.line(self.common["goodbyes"])], [act("GOODBYE")])

    def confirm(self) -> None:
        held = {slot: self.state[slot] for slot in self.service.held if slot in self.state}
        line = self.line(self.service.data["text"]["confirm"], held)
        self.system([line], [act("CONFIRM", slot, value) for slot, value in line.told.items()])
