"""PMI-Decode, tables 4 and 5: gain in faithfulness and cost in relevance.

    python -m experiments.pmi_decode

Table 4: greedy, beam search, sampling and beam sampling, each plain and with PMI-Decode at the α and p that the paper's
rule picks (section 5.3: the highest sum of ROUGE-L and normalised PMI-Faith; the range is that on BEGIN dev, table 9).
`experiments.pmi_range` measures it first, for the model that scores, unless `--range` has it. Table 5: the grid.
The setting is picked on gold responses of CMU-DoG and Topical-Chat, table 4 is made on those of WoW (`faithdial_audit`,
whose responses are human). The model is SmolLM2-135M as it is; `--train FILE` trains it first, say on FaithDial.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

import troth
from experiments import pmi_range
from experiments.common import arguments, cell, publish, table
from troth.core.randomness import generator
from troth.core.score import Score
from troth.grounding.overlap import rouge_l
from troth.readers import grounded
from troth.report import charts
from troth.systems.decoding.generate import GenerateSettings, contexts, respond
from troth.systems.decoding.settings import MODES, Setting
from troth.systems.decoding.sweep import SweepSettings, sweep

METRICS, HEAD = ("pmi_faith", "nli", "relevance"), ("PMI-Faith", "entailment", "ROUGE-L to gold")


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--contexts", type=int, default=100, help="of table 4; the grid has as many others")
    parser.add_argument("--train", type=Path, help="responses with documents to train the model on first")
    parser.add_argument("--steps", type=int, default=300, help="of that training")
    parser.add_argument("--model", default="embedded")
    parser.add_argument("--alphas", default="0,0.25,0.5,1")
    parser.add_argument("--ps", default="0.6,0.75,0.9,1")
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--max-tokens", type=int, default=48)
    parser.add_argument("--range", help="LOW,HIGH of PMI-Faith on BEGIN dev; default: it is measured")
    pmi_range.add_options(parser)
    options = parser.parse_args()
    data, work = options.shared / "data/faithdial_audit", options.work / "pmi_decode"
    work.mkdir(parents=True, exist_ok=True)
    model = options.model if options.train is None else trained(work, options)
    dev = drawn_contexts([data / "gold_cmu.csv", data / "gold_topical.csv"], work / "dev", options.contexts)
    test = drawn_contexts([data / "gold_wow.csv"], work / "test", options.contexts)
    how = GenerateSettings(model=model, setting=Setting(max_tokens=options.max_tokens))
    alphas, ps = ([float(one) for one in text.split(",")] for text in (options.alphas, options.ps))
    *_, whole = pmi_range.measure_ranges(options) if options.range is None else [None]
    bounds = [whole.low, whole.high] if whole else [float(one) for one in options.range.split(",")]
    alpha, top_p, grid = table_5(dev, how, options.work / "pmi_decode.svg", alphas, ps, bounds)
    text = f"{grid}\nrange {bounds[0]:g} to {bounds[1]:g}, picked: α {alpha:g}, p {top_p:g}\n"
    publish(options.work, "pmi_decode", text)
    text += "\n" + table_4(test, how, options, (alpha, top_p))
    publish(options.work, "pmi_decode", text)


def trained(work: Path, options: Any) -> str:
    folder = work / f"model-{options.steps}"
    troth.train_grounded(options.train, folder, model=options.model, fit={"steps": options.steps, "save_every": 50})
    return str(folder / "last")


def drawn_contexts(paths: list[Path], out: Path, count: int) -> Path:
    """So many contexts with a document and a human response, drawn, in our own layout."""
    items = [one for path in paths for one in grounded.read(str(path)) if one.document.strip() and one.response.strip()]
    some = sorted(items, key=lambda one: generator(0, "contexts", one.id + one.document).random())[:count]
    lines = [{"id": str(number), "document": one.document, "history": one.history, "response": one.response}
             for number, one in enumerate(some)]  # fmt: skip
    file = out.with_name(f"{out.name}-{count}.jsonl")
    file.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in lines))
    return file


def table_5(
    dev: Path, how: GenerateSettings, chart: Path, alphas: list[float], ps: list[float], bounds: list[float]
) -> tuple[float, float, str]:
    """The grid as a table and a chart, and the setting that the paper's rule picks."""
    settings = SweepSettings(
        model=how.model, setting=replace(how.setting, alpha=0.0, top_p=1.0), alphas=alphas, ps=ps,
        metrics=("pmi_faith", "nli"), range=bounds,
    )  # fmt: skip
    found = sweep(dev, settings)
    rows = [
        [f"{alpha:g}", f"{p:g}", *(_value(found.score(metric, system=f"α {alpha:g}, p {p:g}")) for metric in METRICS)]
        for alpha in alphas
        for p in ps
    ]
    points = [
        {"α": alpha, "p": f"{p:g}", "mean": found.score(name, system=f"α {alpha:g}, p {p:g}").value, "metric": title}
        for name, title in zip(METRICS, HEAD, strict=True)
        for alpha in alphas
        for p in ps
    ]
    charts.panels(points, x="α", y="mean", colour="p", panel="metric", path=str(chart), title="PMI-Decode")
    picked = found.details[0] if found.details else None
    best = (picked.alpha, picked.top_p) if picked is not None else (0.25, 0.6)
    return *best, table(["α", "p", *HEAD], rows)


def table_4(test: Path, how: GenerateSettings, options: Any, picked: tuple[float, float]) -> str:
    """Every way to decode, plain and with PMI-Decode."""
    gold = [item.response for item in contexts(test, how)[0]]
    rows = []
    for mode in options.modes.split(","):
        for name, (alpha, top_p) in (("plain", (0.0, 1.0)), ("PMI-Decode", picked)):
            setting = replace(how.setting, mode=mode, alpha=alpha, top_p=top_p)
            out = options.work / "pmi_decode" / f"{mode}-{name}.jsonl"
            out.unlink(missing_ok=True)
            respond(test, out, replace(how, setting=setting))  # responses are kept: the same ones are not made again
            scores = {
                one.metric: one for one in troth.ground(out, metrics="pmi_faith,nli").scores if one.group == "all"
            }
            said = [item.response for item in grounded.read(str(out))]
            length = sum(len(text.split()) for text in said) / len(said)
            rows.append([mode, name, _value(scores["pmi_faith"]), _value(scores["nli"]), *relevance(said, gold),
                         f"{length:.1f}"])  # fmt: skip
    head = ["decoding", "", "PMI-Faith", "entailment", "BLEU to gold", "ROUGE-L to gold", "words"]
    return table(head, rows)


def relevance(said: list[str], gold: list[str]) -> list[str]:
    """BLEU and ROUGE-L to the human responses."""
    import sacrebleu

    each = [rouge_l(one, other) for one, other in zip(said, gold, strict=True)]
    return [f"{sacrebleu.corpus_bleu(said, [gold]).score:.1f}", f"{sum(each) / len(each):.3f}"]


def _value(score: Score) -> str:
    return cell(score, percent=False, digits=3)


if __name__ == "__main__":
    main()
