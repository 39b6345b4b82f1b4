"""Grounded responses: the card and the section of runs of `troth ground`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from troth import stats
from troth.core.score import Score
from troth.grounding.claims import OBJECTIONS, format_claim
from troth.grounding.doubts import doubted_words
from troth.grounding.score import TASK
from troth.report.page import cards, words
from troth.report.page.contests import Contest, mark_contests, summary_lines
from troth.report.page.model import Block, Cell, Chart, Example, Examples, Heading, Piece, Section, Text
from troth.report.sources import ScoredSystem, Source
from troth.storage.explorer import ResponseView
from troth.text.normalize import compose

QUESTION = "Is it true to its document?"
BINS = 20
MANY_RESPONSES = 100  # with fewer, bins are twice as wide
CURVE = 10  # bins of the reliability curve
FEWEST = 5  # responses that a bin of it must have
SHOWN = 40  # examples of each kind
LOWEST = 0.25  # of the responses are the least faithful, where no calibration says which are
LONGEST = 480  # characters of a document beside an example
LABELS = {0: "not supported, say people", 1: "supported, say people"}
GROUPS = {"all": "all", "label:0": "not supported", "label:1": "supported"}  # columns of the table
NOTE = "Means, with the 95% interval over documents; shares of faithful responses in percent."
LEAD = (
    "A response that answers from a document should say what the document says. "
    "A metric puts a number on it; labels by people tell how far the number is to be trusted."
)


def contribute(sources: Sequence[Source]) -> cards.Contribution:
    if not (systems := cards.systems_of(sources, TASK.name)):
        return cards.Contribution()
    names = headline(systems[0])
    contest = Contest.between(systems, names)
    marked = mark_contests(contest)
    answer = None
    if names:
        judged = systems[0].metric(names[0]).of == "faithful"
        about = "share of responses above a threshold learned from labelled ones" if judged else "mean over responses"
        answer = cards.card(
            cards.CardQuestion(QUESTION, "grounding", about), contest, lambda _: names[0], _sentence, _facts
        )
    section = Section("grounding", "Grounding", LEAD, _blocks(contest, names), marked)
    return cards.contribution(contest.systems, [answer], section, summary_lines(contest, marked[0].marks, names))


def headline(system: ScoredSystem) -> list[str]:
    """The figure of the summary: the share of faithful responses, or the first metric's mean."""
    judged = [metric for metric in system.overall if system.metric(metric).of == "faithful"]
    return (judged or system.overall)[:1]


def base_metric(system: ScoredSystem, metric: str) -> str:
    """The metric behind a figure: `nli` for `faithful:nli`, which is the share that passes a threshold on it."""
    declared = system.metric(metric)
    return declared.variant if declared.of == "faithful" else metric


def _sentence(system: ScoredSystem, score: Score) -> str:
    title = system.metric(base_metric(system, score.metric)).title
    if base_metric(system, score.metric) != score.metric:
        share = words.percent(score.value, 0)
        return f"{share}% of responses are faithful to their document, by {words.title_in_sentence(title)}."
    return f"{title} is {score.value:.2f} on average over {words.count(score.n, 'response')}; higher is truer."


def _facts(system: ScoredSystem, score: Score) -> Iterator[str]:
    metric = base_metric(system, score.metric)
    labelled = [(view.values[metric], view.label) for view in responses(system, metric) if view.label is not None]
    if labelled:
        values, labels = zip(*labelled, strict=True)
        yield f"People found {words.percent(sum(labels) / len(labels), 0)}% of them supported."
        if (area := stats.auroc(values, labels)) is not None:
            yield f"{system.metric(metric).title} tells those apart with AUROC {area:.2f}; 0.5 would be chance."
    lost = sum(u.count for u in system.source.result.unscored if (u.system, u.metric) == (system.system, metric))
    if lost:
        yield f"{words.count(lost, 'response')} could not be scored."


def responses(system: ScoredSystem, metric: str) -> list[ResponseView]:
    """The responses that have a value."""
    return [view for view in system.source.tallies.responses if view.system == system.system and metric in view.values]


def _blocks(contest: Contest, names: Sequence[str]) -> list[Block]:
    systems = contest.systems
    metrics = list(dict.fromkeys(base_metric(system, metric) for system in systems for metric, _ in system.scores))
    blocks: list[Block] = [
        cards.metrics_grid("ground", contest, GROUPS, NOTE),
        Heading("Scores and what people say"),
        *(_distribution(systems, metric) for metric in metrics),
        _reliability(systems, metrics),
    ]
    for name in names:
        metric = base_metric(systems[0], name)
        blocks += [Heading("By source"), _by_source(systems, metric), Heading("Responses"), *_examples(systems, metric)]
    if any(system.source.tallies.is_empty for system in systems):
        blocks.append(Text("A run here holds no responses, so none can be shown. Run it again."))
    return blocks


def _distribution(systems: Sequence[ScoredSystem], metric: str) -> Chart:
    """How scores are spread, by label: a small chart for each of several systems, with the same bins."""
    views = {one.name: responses(one, metric) for one in systems}
    values = [view.values[metric] for responses_of_system in views.values() for view in responses_of_system]
    low, high = min([0.0, *values]), max([1.0, *values])
    bins = BINS if max(map(len, views.values())) >= MANY_RESPONSES else BINS // 2
    step = (high - low) / bins
    rows: list[list[Cell]] = []
    for system, responses_of_system in views.items():
        for label, name in (*LABELS.items(), (None, "not labelled")):
            values_of_label = [view.values[metric] for view in responses_of_system if view.label == label]
            counts = [0] * bins
            for value in values_of_label:
                counts[min(bins - 1, int((value - low) / step))] += 1
            rows += [
                [system, name, f"{low + index * step:.2f}", count / len(values_of_label), count]
                for index, count in enumerate(counts)
                if values_of_label
            ]
    title, several = systems[0].metric(metric).title, len(systems) > 1
    return Chart(
        f"scores-{metric}", "columns", f"{title} by label", ["system", "label", "score", "share", "responses"], rows,
        "score", "share", "label", x_title=f"{title}, from", y_title="share of responses", percent=True, zero=True,
        note="Share of the responses of each label. A metric that can be trusted keeps the two apart.",
        colours={LABELS[0]: 1, LABELS[1]: 2, "not labelled": 0}, panel="system" if several else "", wide=several,
    )  # fmt: skip


def _reliability(systems: Sequence[ScoredSystem], metrics: Sequence[str]) -> Chart:
    """Probabilities against people's labels; systems with few responses are combined."""
    rows: list[list[Cell]] = []
    for metric in metrics:
        title = systems[0].metric(metric).title
        by_system = {
            system.name: [
                (view.probability[metric], view.label)
                for view in responses(system, metric)
                if view.label is not None and metric in view.probability
            ]
            for system in systems
        }
        known = {name: pairs for name, pairs in by_system.items() if pairs}
        if len(systems) > 1 and known and min(map(len, known.values())) >= MANY_RESPONSES:
            curves = {f"{title}, {name}": pairs for name, pairs in known.items()}
        else:
            curves = {title: [pair for pairs in known.values() for pair in pairs]}
        rows += [[name, *point] for name, pairs in curves.items() for point in _curve(pairs)]
    return Chart(
        "reliability", "lines", "Can the probability be trusted?", ["metric", "probability", "supported", "n"],
        rows, "probability", "supported", "metric", x_title="probability that it is faithful",
        y_title="found supported by people", percent=True, diagonal=True, zero=True,
        note="On the dashed line, what is called 70% probable is supported 70% of the time.",
    )  # fmt: skip


def _curve(pairs: Sequence[tuple[float, int]]) -> Iterator[tuple[float, float, int]]:
    """Mean probability, share found supported, and number of responses, bin by bin."""
    number = CURVE if len(pairs) >= MANY_RESPONSES else CURVE // 2
    bins: dict[int, list[tuple[float, int]]] = {}
    for chance, label in pairs:
        bins.setdefault(min(number - 1, int(chance * number)), []).append((chance, label))
    for _, members in sorted(bins.items()):
        if len(members) >= FEWEST:
            said, seen = (math.fsum(pair[i] for pair in members) / len(members) for i in (0, 1))
            yield round(said, 6), seen, len(members)


def _by_source(systems: Sequence[ScoredSystem], metric: str) -> Chart:
    rows: list[list[Cell]] = [
        [system.name, source, s.value, s.low, s.high, s.n]
        for system in systems
        for source, s in system.groups(metric, "source").items()
    ]
    if len({row[1] for row in rows}) < 2:
        rows = []
    title = systems[0].metric(metric).title
    return Chart(
        "sources", "dots", f"{title} by source", ["system", "source", metric, "low", "high", "n"],
        sorted(rows, key=lambda row: float(row[2] or 0.0)), metric, "source", "system", "low", "high", x_title=title,
    )  # fmt: skip


def _examples(systems: Sequence[ScoredSystem], metric: str) -> list[Block]:
    """The least faithful responses, and those that a metric accepts and people do not."""
    shown: list[Example] = []
    total = 0
    for system in systems:
        views = sorted(responses(system, metric), key=lambda view: (view.values[metric], view.id))
        if any(metric in view.faithful for view in views):
            lowest = [view for view in views if view.faithful.get(metric) is False]
        else:  # no threshold says which are unfaithful
            lowest = views[: math.ceil(len(views) * LOWEST)]
        deceived = [view for view in reversed(views) if view.label == 0 and view.faithful.get(metric, False)]
        total += len(lowest) + len(deceived)
        title, most = system.metric(metric).title, cards.examples_per_system(SHOWN, systems)
        for views, group in ((lowest, "least faithful"), (deceived, "scored high, not supported")):
            chosen = group if len(systems) == 1 else f"{system.name}, {group}"
            shown += (_example(view, metric, title, chosen) for view in views[:most])
    note = "Marked: words of the response that the document does not support."
    return [Examples("Least faithful responses", shown, note, total)] if shown else []


def _example(view: ResponseView, metric: str, title: str, group: str) -> Example:
    cut = view.document if len(view.document) <= LONGEST else view.document[:LONGEST].rstrip() + " …"
    facts = [f"document: {cut}"]
    if view.label is not None:
        facts.append(LABELS.get(view.label, str(view.label)))
    if metric in view.probability:
        facts.append(f"faithful with probability {view.probability[metric]:.2f}")
    facts += [format_claim(one) for one in view.claims if one.verdict in OBJECTIONS]
    return Example(f"{title} {view.values[metric]:.2f}", view.id, mark_unsupported(view), facts, group=group)


def mark_unsupported(view: ResponseView) -> list[Piece]:
    """The response with the words marked that its document does not support, as everywhere in troth."""
    pieces: list[Piece] = []
    text, at = compose(view.text), 0
    for word in doubted_words(view.document, view.text, view.claims):
        if word.unsupported:
            pieces += [Piece(text[at : word.start], ""), Piece(text[word.start : word.end], "!")]
            at = word.end
    pieces.append(Piece(text[at:], ""))
    return [piece for piece in pieces if piece.text]
