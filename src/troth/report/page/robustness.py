"""Robustness: the cards and the section of CheckDST and SGD-X runs together."""

from __future__ import annotations

from collections.abc import Sequence

from troth.report.page import checkdst, sgdx
from troth.report.page.cards import Contribution, contribution, systems_of
from troth.report.page.differences import differences, story
from troth.report.page.model import Block, Heading, Section
from troth.report.sources import Source

LEAD = (
    "A tracker that is right on the test set, but wrong when the user rephrases, hesitates or names an unknown place, "
    "or when a developer rewords a description, cannot be relied on."
)


def contribute(sources: Sequence[Source]) -> Contribution:
    users, schemas = systems_of(sources, "robust checkdst"), systems_of(sources, "robust sgdx")
    by_user = differences(users, checkdst.headline(users))
    by_schema = differences(schemas, sgdx.headline(schemas))
    told = checkdst.headline(users)
    if any(source.result.task == "dst" for source in sources):
        told = told[1:]  # the section on state tracking speaks of JGA already
    lines = story(users, by_user, told) + story(schemas, by_schema, sgdx.headline(schemas))
    blocks: list[Block] = []
    if users:
        blocks += [Heading("When the user says it in other words"), *checkdst.blocks(users, by_user)]
    if schemas:
        blocks += [Heading("When the schema is worded differently"), *sgdx.blocks(schemas, by_schema)]
    section = Section("robustness", "Robustness", LEAD, blocks) if blocks else None
    cards = [checkdst.answer(users, by_user), sgdx.answer(schemas, by_schema)]
    return contribution([*users, *schemas], cards, section, lines)
