"""Robustness: the section of CheckDST and SGD-X runs together."""

from __future__ import annotations

from collections.abc import Sequence

from troth.report.page import users, wordings
from troth.report.page.differences import Differences
from troth.report.page.model import Block, Heading, Section
from troth.report.page.sources import Item

LEAD = (
    "Right on the test set and wrong when the user rephrases, stammers or names an unknown place, "
    "or when a developer rewords a description: that is not right."
)


def section(
    by_user: Sequence[Item], by_schema: Sequence[Item], of_users: Differences, of_schemas: Differences
) -> Section | None:
    blocks: list[Block] = []
    if by_user:
        blocks += [Heading("When the user says it otherwise"), *users.blocks(by_user, of_users)]
    if by_schema:
        blocks += [Heading("When the schema is worded otherwise"), *wordings.blocks(by_schema, of_schemas)]
    return Section("robustness", "Robustness", LEAD, blocks) if blocks else None
