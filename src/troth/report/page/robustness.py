"""Robustness: the cards and the section of CheckDST and SGD-X runs together."""

from __future__ import annotations

from collections.abc import Sequence

from troth.report.page import checkdst, sgdx, stress
from troth.report.page.cards import Contribution, contribution, systems_of
from troth.report.page.contests import Contest, SummaryLine, mark_contests, summary_lines
from troth.report.page.model import Block, Heading, Section
from troth.report.sources import Source
from troth.robustness.checkdst import TASK as CHECKDST
from troth.robustness.sgdx import TASK as SGDX
from troth.tracking.score import TASK as TRACKING

LEAD = (
    "A tracker that is right on the test set, but wrong when the user rephrases, hesitates or names an unknown place, "
    "or when a developer rewords a description, cannot be relied on."
)


def contribute(sources: Sequence[Source]) -> Contribution:
    perturbed, worded = systems_of(sources, CHECKDST.name), systems_of(sources, SGDX.name)
    spoken = checkdst.headline(perturbed)
    users = Contest.between(perturbed, spoken[::-1])
    both = {system.name for system in worded} <= {system.name for system in perturbed}
    schemas = Contest.between(worded, sgdx.headline(worded), elsewhere=users.metrics if both else ())
    marked = mark_contests(users, schemas)
    stresses = stress.stress_lines(stress.pair_trackers(perturbed, worded))
    if len(stresses) > 1 or any(source.result.task == TRACKING.name for source in sources):
        spoken = spoken[1:]  # these lines, or the section on state tracking, speak of JGA already
    lines = summary_lines(users, marked[0].marks, spoken)
    if stresses:  # they speak of JGA under the wordings, too, and come first of this section
        largest = max(line.size for line in (*stresses, *lines) if isinstance(line, SummaryLine))
        lines = [*(SummaryLine(line, largest) for line in stresses), *lines]
    else:
        lines += summary_lines(schemas, marked[1].marks, schemas.headline)
    blocks: list[Block] = []
    if users.systems:
        blocks += [Heading("When the user says it in other words"), *checkdst.blocks(users, 0)]
    if schemas.systems:
        blocks += [Heading("When the schema is worded differently"), *sgdx.blocks(schemas, 1)]
    section = Section("robustness", "Robustness", LEAD, blocks, marked) if blocks else None
    cards = [checkdst.make_card(users), sgdx.make_card(schemas)]
    return contribution([*users.systems, *schemas.systems], cards, section, lines)
