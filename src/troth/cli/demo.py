"""The demo: two trackers on bundled dialogues, and what the numbers say about them."""

from __future__ import annotations

import textwrap

from troth import demo
from troth.cli import show
from troth.report import tables
from troth.runner.dst import dst


def run() -> None:
    gold, hasty, sturdy = (demo.path(name) for name in ("gold", "hasty", "sturdy"))
    result = dst(gold, f"hasty={hasty}", f"sturdy={sturdy}", profile="trade")
    count = result.systems[0].counts.dialogues
    show.text(f"Two trackers, {count} dialogues that come with troth, scored turn by turn (profile trade):\n")
    shown = ("jga", "sa", "aga", "fga@0.25", "fga@0.5", "fga@1", "turn_match")
    show.tables(tables.of_scores([score for score in result.scores if score.metric in shown]))
    jga, flexible = (
        {system: result.score(metric, system=system).value or 0.0 for system in ("hasty", "sturdy")}
        for metric in ("jga", "fga@0.5")
    )
    ahead, behind = sorted(jga, key=lambda name: -jga[name])
    verdict = f"prefers {behind}" if flexible[behind] > flexible[ahead] else "agrees"
    told = (
        f"Joint goal accuracy prefers {ahead}, by {100 * (jga[ahead] - jga[behind]):.1f} points: it counts a turn as "
        f"wrong for as long as an old mistake is carried on. Flexible goal accuracy forgives what is inherited, and "
        f"{verdict}: "
        f"{100 * flexible[behind]:.1f} to {100 * flexible[ahead]:.1f} (λ = 0.5)."
    )
    show.text("\n" + textwrap.fill(told, 100))
    show.text("\nThe same predictions by the public SGD script and others:\n")
    every = dst(gold, f"hasty={hasty}", profile="all", metrics=["jga", "aga", "fga@0.5"])
    show.tables(tables.of_scores(every.scores, intervals=False))
    show.text(
        f"\nNext, on your own files:\n  troth dst GOLD PRED\nor on these:\n"
        f"  troth dst {gold} {hasty} {sturdy}\n  troth explain {gold} {hasty} --from sgd --to trade"
    )
