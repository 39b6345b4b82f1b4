"""Calls of transcripts written as states, gold and predicted, so that every command of state tracking takes them."""

from __future__ import annotations

from collections.abc import Sequence

from troth import readers
from troth.agents.analysis import AnalysisRules, analyse
from troth.agents.corpus import gold_files, load
from troth.agents.rules import MatchingRule, find_rule
from troth.core.errors import UserError
from troth.core.names import Path, name_paths, path_of
from troth.core.records import Pair
from troth.readers import trajectories


def write_states(
    transcripts: Path,
    out: Path,
    *,
    gold: Path | Sequence[Path] | None = None,
    tools: Path | None = None,
    rule: str | MatchingRule | None = None,
    format: str | None = None,
) -> int:
    """Writes the states that calls make, a user turn per line in troth's own JSONL, and returns how many trials.

    The dialogues are trials. `troth dst` scores the file, and `troth robust` compares it with those of other users' and
    tools' wordings: cJGA, schema sensitivity and all that comes with them.

    >>> import tempfile, troth
    >>> from troth import demo
    >>> out = tempfile.mkdtemp() + "/states.jsonl"
    >>> write_states(demo.path("agents/hasty.jsonl"), out)
    12
    >>> troth.dst(out, profile="trade", metrics="jga")["jga"].n
    14
    """
    (name, path) = name_paths([transcripts], "file")[0]
    corpus = load([(name, path)], gold_files(gold), None if tools is None else path_of(tools), format)
    if not corpus.has_gold:
        raise UserError("no gold calls are known", file=path, hint="give gold")
    declared = trajectories.FORMATS.load(corpus.systems[0].format).FORMAT.profile
    rules = AnalysisRules(find_rule(rule if rule is not None else declared or "exact"), "match")
    analysis = analyse(corpus, corpus.systems[0], rules)
    states = ((one, one.states.dialogues(one.trial.id, one.trial.users())) for one in analysis.trials if one.states)
    pairs = (Pair(gold, None if one.absent else pred) for one, (gold, pred) in states)
    readers.write(pairs, path_of(out), "jsonl")
    return len(analysis.trials)
