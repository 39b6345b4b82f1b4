"""What was not read of transcripts, and what was joined: counts and notes for whoever reads the scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from troth.agents.analysis import AgentAnalysis
from troth.core.metric import Metric
from troth.core.names import format_count
from troth.core.parts import Parts
from troth.core.result import Note, UnscoredCount

SHOWN = 5  # types of unread blocks in a note
NOT_READ = "the transcript has blocks that were not read"


def count_unread(system: AgentAnalysis) -> Counter[str]:
    """The blocks of a system's transcripts that were not read, by type."""
    counts: Counter[str] = Counter()
    for trial in system.trials:
        counts.update(trial.trial.unread)
    return counts


def unread_parts(system: AgentAnalysis, kind: str) -> Parts:
    """Unread blocks of one type, per trial."""
    return system.of_trials(lambda trial: None if trial.absent else (trial.trial.unread.get(kind, 0), 1))


def unscored_trials(system: AgentAnalysis, metrics: Sequence[Metric]) -> Iterator[UnscoredCount]:
    """Trials with unread blocks, for each metric that needs all that was said and done."""
    unread = sum(bool(trial.trial.unread) for trial in system.trials)
    for metric in metrics:
        if unread and "transcript" in metric.needs:
            yield UnscoredCount(system.name, metric.name, NOT_READ, unread)
        if "judge" in metric.needs:
            missing = count_unjudged(system, metric).items()
            yield from (UnscoredCount(system.name, metric.name, reason, count) for reason, count in missing)


def count_unjudged(system: AgentAnalysis, metric: Metric) -> Counter[str]:
    """Trials to which a judge gave no value, by the reason."""
    verdicts = (getattr(one.judged, metric.name.removeprefix("judge_"), None) for one in system.trials)
    return Counter(verdict.missing for verdict in verdicts if verdict is not None and verdict.missing)


def reading_notes(system: AgentAnalysis) -> Iterator[Note]:
    """Notes about parts of the transcripts that were not read."""
    if unread := count_unread(system):
        kinds = ", ".join(f"{count} of type {kind}" for kind, count in unread.most_common(SHOWN))
        kinds += f", and {len(unread) - SHOWN} more types" if len(unread) > SHOWN else ""
        trials = format_count(sum(bool(trial.trial.unread) for trial in system.trials), "trial")
        what = f"{format_count(unread.total(), 'block')} not read: {kinds}"
        yield Note(
            f"{what}. {trials} with such blocks: claims, details and sources of values are not judged", system.name
        )
    if joined := [trial.trial.rows for trial in system.trials if trial.trial.rows > 1]:
        conversations = format_count(len(joined), "conversation")
        yield Note(f"{sum(joined)} rows of a log, one per model call, are joined into {conversations}", system.name)
