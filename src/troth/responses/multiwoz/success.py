"""Inform and Success of one dialogue, as mwzeval judges them.

A dialogue informs if, in every domain of the user's goal, the venues that the system last offered all fit the goal. It
succeeds if it informs and the system gave everything that the user was to ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import msgspec

from troth.responses.multiwoz.database import DOMAINS, VenueDatabase

REQUESTABLE = ("PHONE", "ADDRESS", "POST", "REFERENCE", "TRAINID")
NO_DATABASE = ("taxi", "police", "hospital")  # no venue has to be offered

DomainState = Mapping[str, str]  # value by slot


class DomainGoal(msgspec.Struct, frozen=True, gc=False):
    """Goal of the user in one domain."""

    informable: dict[str, str] = {}  # constraints on the venue
    requestable: tuple[str, ...] = ()  # requested slots, as placeholders


class MultiwozTurn(msgspec.Struct, frozen=True, gc=False):
    """A system turn: the response in mwzeval's form, the state before it, and the domains that it is about."""

    response: str
    state: dict[str, dict[str, str]] | None = None  # None: the file has none
    domains: tuple[str, ...] | None = None


class DomainOutcome(msgspec.Struct, frozen=True, gc=False):
    """Outcome of one domain of a goal."""

    inform: bool
    success: bool  # only where the whole dialogue informs
    offered: int  # venues that the last offer may mean
    unfit: int  # those of them that do not fit the goal
    missing: tuple[str, ...]  # requested and not provided


def estimate_domains(states: Sequence[Mapping[str, DomainState]]) -> list[tuple[str, ...]]:
    """The domain that each turn is about, from changes of the state; empty before the first change."""
    current: str | None = None
    before: Mapping[str, DomainState] = {}
    changed_before: list[str] = []
    domains: list[tuple[str, ...]] = []
    for state in states:
        changed = [name for name, slots in state.items() if slots.items() - before.get(name, {}).items()]
        if changed and current not in changed:
            current = max(changed, key=lambda name: len(state[name]))
        elif not changed and current is not None and len(changed_before) > 1:
            current = next((name for name in changed_before if name in state and name != current), current)
        before, changed_before = state, changed
        domains.append(() if current is None else (current,))
    return domains


def judge_dialogue(
    goal: Mapping[str, DomainGoal],
    turns: Sequence[MultiwozTurn],
    booked: Sequence[Collection[str]],
    database: VenueDatabase,
) -> dict[str, DomainOutcome]:
    """The outcome of each domain of the goal. `booked`: the domains that are booked by each system turn."""
    offered: dict[str, frozenset[str]] = dict.fromkeys(goal, frozenset())
    provided: dict[str, set[str]] = {domain: set() for domain in goal}
    for turn, booked_now in zip(turns, booked, strict=False):  # mwzeval stops where either ends
        for domain in (name for name in goal if name in (turn.domains or ())):
            if ("TRAINID" if domain == "train" else "NAME") in turn.response and domain in DOMAINS:
                state = turn.state or {}
                venues = database.query(domain, state[domain]) if domain in state else frozenset[str]()
                if not offered[domain] <= venues or not offered[domain]:
                    offered[domain] = venues
            provided[domain].update(_provided(turn.response, booked=domain in booked_now))
    unfit = {
        domain: 0
        if _needs_no_offer(domain, wanted, offered[domain])
        else len(offered[domain] - database.query(domain, wanted.informable))
        for domain, wanted in goal.items()
    }
    inform = {
        domain: not unfit[domain] and (bool(offered[domain]) or _needs_no_offer(domain, wanted, offered[domain]))
        for domain, wanted in goal.items()
    }
    missing = {
        domain: tuple(name for name in wanted.requestable if name not in provided[domain])
        for domain, wanted in goal.items()
    }
    whole = all(inform.values())
    return {
        domain: DomainOutcome(
            inform[domain], whole and not missing[domain], len(offered[domain]), unfit[domain], missing[domain]
        )
        for domain in goal
    }


def _needs_no_offer(domain: str, goal: DomainGoal, offered: Collection[str]) -> bool:
    """Whether the domain matches at once: the user names the venue, there is no database, or no train is asked for."""
    if domain == "train" and not offered and "TRAINID" not in goal.requestable:
        return True
    return "name" in goal.informable or domain in NO_DATABASE


def _provided(response: str, *, booked: bool) -> Iterator[str]:
    """What a response gives; a reference only if there can be one."""
    return (name for name in REQUESTABLE if name in response and (name != "REFERENCE" or booked))
