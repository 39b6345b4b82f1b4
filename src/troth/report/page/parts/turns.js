// One dialogue, turn by turn, as figure 1 of the FGA paper lays it out: what was said, both states, exact and turn
// match, and a line from every inherited mistake back to the turn that made it.
function exchanges(view) {
  const rows = [];
  const numbered = view.lines.some((line) => line.number >= 0);
  let lines = [];
  for (const line of view.lines) {
    lines.push(line);
    if (numbered ? line.number < 0 : !line.answer) continue;
    rows.push({
      number: line.number,
      anchor: numbered ? String(line.number) : `s${line.index}`,
      label: `turn ${numbered ? line.number : line.index}`,
      lines,
      tracked: line.tracked,
    });
    lines = [];
  }
  if (lines.length) rows.push({ number: -1, anchor: `s${lines.at(-1).index}`, label: "end", lines });
  return rows;
}

// Lines in the gutter: one lane for each mistake that is carried on, as long as it is.
function lanes(rows) {
  const order = new Map(rows.map((row, i) => [row.number, i]));
  const chains = new Map();
  rows.forEach((row, i) => {
    for (const unit of (row.tracked && row.tracked.units) || []) {
      if (unit.blamed < 0 || unit.blamed === row.number || !order.has(unit.blamed)) continue;
      const key = `${unit.service}/${unit.blamed}`;
      const chain = chains.get(key) || {
        cause: order.get(unit.blamed),
        number: unit.blamed,
        service: unit.service,
        at: [],
      };
      if (!chain.at.includes(i)) chain.at.push(i);
      chains.set(key, chain);
    }
  });
  const taken = [];
  for (const chain of chains.values()) {
    chain.last = chain.at[chain.at.length - 1];
    let lane = taken.findIndex((end) => end < chain.cause);
    if (lane < 0) lane = taken.push(-1) - 1;
    taken[lane] = chain.last;
    chain.lane = lane;
  }
  return { count: taken.length, chains: [...chains.values()] };
}

function laneCells(found, i, go) {
  const cells = Array.from({ length: found.count }, () => el("span", { class: "lane none" }));
  for (const chain of found.chains) {
    if (i < chain.cause || i > chain.last) continue;
    const kind = i === chain.cause ? "origin" : i === chain.last ? "end" : chain.at.includes(i) ? "branch" : "through";
    const label = `${chain.service ? chain.service + ": " : ""}carried on from turn ${chain.number}`;
    cells[chain.lane] =
      kind === "origin"
        ? el("span", { class: "lane origin", title: "a mistake that later turns carry on" })
        : el("button", {
            class: `lane ${kind}`,
            type: "button",
            title: label,
            "aria-label": label,
            tabindex: kind === "through" ? -1 : null,
            onclick: () => go(chain.number),
            css: { "--reach": found.count - chain.lane },
          });
  }
  return el("div", { class: "lanes" }, cells);
}

function highlighted(text, query) {
  if (!query) return text;
  const lower = text.toLowerCase(),
    found = [];
  let from = 0;
  for (let at = lower.indexOf(query); at >= 0; at = lower.indexOf(query, from)) {
    found.push(text.slice(from, at), el("mark", {}, text.slice(at, at + query.length)));
    from = at + query.length;
  }
  return [...found, text.slice(from)];
}

function lineBlock(line, options) {
  const said = options.words
    ? options.words.map(([text, changed]) =>
        changed ? [el(options.mark, {}, text.trim()), text.endsWith(" ") ? " " : ""] : text,
      )
    : highlighted(line.text, options.query);
  return el(
    "div",
    { class: line.speaker ? "line system" : "line user" },
    el("span", { class: "speaker", title: line.speaker ? "system" : "user" }, line.speaker ? "S" : "U"),
    el("p", { class: "said" }, said),
  );
}

const valueText = (entry) => (entry && entry.values.length ? entry.values[0] : "");

function stateBlock(line) {
  const wrong = new Set(line.tracked ? line.tracked.faults.map((fault) => `${fault.service}\n${fault.slot}`) : []);
  const services = [...new Set(line.gold.map((one) => one.service))];
  const blocks = services.map((service) => {
    const pairs = line.gold.filter((one) => one.service === service && !wrong.has(`${service}\n${one.slot}`));
    return pairs.length
      ? el(
          "div",
          {},
          el("span", { class: "service" }, service),
          el(
            "span",
            { class: "pairs" },
            pairs.map((one) =>
              el(
                "span",
                { class: one.fresh ? "pair new" : "pair", title: one.fresh ? "new in this turn" : null },
                `${one.slot} = `,
                el("b", {}, valueText(one)),
              ),
            ),
          ),
        )
      : null;
  });
  return blocks.some(Boolean) ? el("div", { class: "state" }, blocks) : null;
}

const sinceButton = (turn, go) =>
  el("button", { class: "back", type: "button", onclick: () => go(turn) }, `since turn ${turn}`);

function faultBlock(fault, number, go) {
  const old = fault.since !== number;
  const near = fault.score > 0 ? ` (${percent(fault.score, 0)}% alike)` : "";
  return el(
    "div",
    { class: old ? "fault old" : "fault" },
    el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[fault.kind]),
    el("span", { class: "what" }, fault.service ? `${fault.service}.${fault.slot}` : fault.slot),
    el("span", { class: "kind" }, SAID[fault.kind] + near),
    fault.gold ? el("span", { class: "gold" }, "gold ", el("b", {}, fault.gold.values.join(" | "))) : null,
    fault.pred ? el("span", { class: "pred" }, "predicted ", el("b", {}, valueText(fault.pred))) : null,
    old ? el("span", { class: "since" }, sinceButton(fault.since, go)) : null,
  );
}

// Mistakes that are made here, then those that have stood since an earlier turn.
const causesFirst = (faults, number) => [...faults].sort((a, b) => (a.since !== number) - (b.since !== number));

function trackedBlocks(line, go) {
  const found = line.tracked;
  if (!found) return [];
  const inherited = found.units.filter((unit) => unit.blamed >= 0 && unit.blamed !== line.number);
  return [
    found.missing ? el("p", { class: "cause" }, "Nothing was predicted for this turn.") : null,
    found.faults.length
      ? el(
          "div",
          { class: "faults" },
          causesFirst(found.faults, line.number).map((fault) => faultBlock(fault, line.number, go)),
        )
      : null,
    inherited.map((unit) =>
      el(
        "p",
        { class: "cause" },
        el(
          "button",
          { class: "back", type: "button", onclick: () => go(unit.blamed) },
          `↑ ${unit.service ? unit.service + " inherits" : "inherits"} the mistake of turn ${unit.blamed}`,
        ),
      ),
    ),
  ];
}

function probabilities(label, values) {
  const words = ["entailed", "neutral", "contradicted"];
  return values ? `${label}: ${words.map((word, i) => `${word} ${percent(values[i], 0)}%`).join(", ")}` : null;
}

function answerBlocks(answer) {
  return [
    el(
      "div",
      { class: "line system" },
      el("span", { class: "speaker", title: "response" }, "R"),
      el("p", { class: "said" }, answer.text === null ? el("del", {}, "no response") : answer.text),
    ),
    el(
      "div",
      { class: "acts" },
      answer.acts.map((act) => {
        const fine = act.entailed === null ? !act.missed.length : act.entailed;
        const asked = [
          probabilities("alone", act.plain),
          probabilities("in context", act.augmented),
          act.missed.length ? `not there word for word: ${act.missed.join(", ")}` : null,
          act.excluded ? `not validated: ${act.excluded}` : null,
        ].filter(Boolean);
        return el(
          "div",
          { class: fine ? "act yes" : "act no" },
          el("b", { "aria-label": fine ? "conveyed" : "not conveyed" }, fine ? "✓ " : "✕ "),
          `${act.name}(${act.slot}${act.values.length ? " = " + act.values.join(", ") : ""})`,
          act.reference ? el("small", { class: "reference" }, `“${act.reference}”`) : null,
          asked.length ? el("small", {}, asked.join(" · ")) : null,
        );
      }),
    ),
    answer.candidates.length > 1 ? nbestBlock(answer) : null,
  ];
}

const pointsText = (number) => `${number} point${number === 1 ? "" : "s"}`;

// The list that a response was chosen from: each candidate with its points, act by act, and why it was chosen.
function nbestBlock(answer) {
  const chosen = answer.candidates.findIndex((one) => one.text === answer.text);
  const rows = answer.candidates.map((one, i) =>
    el(
      "li",
      { class: i === chosen ? "candidate chosen" : "candidate" },
      el("p", { class: "said" }, i === chosen ? el("b", {}, one.text) : one.text),
      el(
        "small",
        {},
        [
          i === chosen ? "chosen" : null,
          one.fidelity === null ? null : `${one.fidelity} of ${pointsText(one.points.length)}`,
          one.score === null ? null : `likelihood ${one.score.toFixed(3)}`,
          one.system || null,
        ]
          .filter(Boolean)
          .join(" · "),
      ),
      one.points.map((point) =>
        el(
          "div",
          { class: point.faithful ? "act yes" : "act no" },
          el("b", { "aria-label": point.faithful ? "a point" : "no point" }, point.faithful ? "✓ " : "✕ "),
          `${point.name}(${point.slot}${point.values.length ? " = " + point.values.join(", ") : ""})`,
          el("small", { class: "reference" }, `“${point.reference}”`),
          el(
            "small",
            {},
            [
              probabilities(point.context ? "in context" : "alone", point.chances),
              point.present ? null : "its values are not in the text",
            ]
              .filter(Boolean)
              .join(" · "),
          ),
        ),
      ),
    ),
  );
  return el(
    "details",
    { class: "nbest" },
    el("summary", {}, `n-best list of ${answer.candidates.length}: ${whyChosen(answer.candidates, chosen)}`),
    el("ol", {}, rows),
  );
}

function whyChosen(candidates, chosen) {
  if (chosen < 0) return "the response is none of them";
  const scored = candidates.every((one) => one.score !== null);
  const likeliest = scored ? candidates.reduce((best, one, i) => (one.score > candidates[best].score ? i : best), 0) : 0;
  const one = candidates[chosen];
  const first = scored ? "the likeliest" : "the first";
  if (one.fidelity === null || likeliest === chosen) return `number ${chosen + 1} was chosen, ${first}`;
  const other = candidates[likeliest].fidelity;
  const why = one.fidelity > other ? `${pointsText(one.fidelity)}, ${first} has ${other}` : "the tie went to it";
  return `number ${chosen + 1} was chosen: ${why}`;
}

function matches(found, compact) {
  if (!found || found.verdict === "none") return found ? el("div", { class: "match" }, "not scored") : null;
  const exact = found.verdict === "right",
    turn = found.verdict !== "fresh";
  const one = (yes, name) =>
    el(
      "div",
      { class: yes ? "match yes" : "match no" },
      el("b", { "aria-hidden": "true" }, yes ? "✓" : "✕"),
      name,
      el("span", { class: "visually-hidden" }, yes ? ": yes" : ": no"),
    );
  const pair = [one(exact, "exact"), one(turn, "turn")];
  return compact
    ? el("div", { css: { display: "flex", gap: "1rem", "font-size": ".8rem", color: "var(--muted)" } }, pair)
    : pair;
}

// `other`: a second view of the same dialogue (another system), or of its twin in a perturbed set.
function turnRows(view, other, options) {
  const rows = exchanges(view);
  const beside = other ? new Map(exchanges(other).map((row) => [row.anchor, row])) : null;
  const gutter = lanes(rows);
  const go = (number) => options.go(String(number));
  const made = rows.map((row, i) => {
    const twin = beside && beside.get(row.anchor);
    // The original stands on the left: what it alone has is struck, what the other alone has is underlined.
    const columns = !other
      ? [column(row, null, "")]
      : options.swap
        ? [column(twin, row, "del"), column(row, twin, "ins")]
        : [column(row, twin, "del"), column(twin, row, "ins")];
    return el(
      "div",
      { class: "turn", id: `turn-${row.anchor}`, "data-turn": row.anchor },
      laneCells(gutter, i, go),
      el(
        "div",
        { class: "number" },
        el("a", { href: options.link(row.anchor), title: "link to this turn" }, row.label),
        other ? null : matches(row.tracked),
      ),
      el("div", { class: "body" }, el("div", { class: "columns" }, columns)),
    );
  });
  const holder = el("div", { class: "turns" }, made);
  holder.style.setProperty("--gutter", `${Math.max(1, gutter.count) * 11 + 4}px`);
  holder.style.setProperty("--columns", other ? 2 : 1);
  return holder;

  function column(row, twin, mark) {
    if (!row) return el("div", {}, el("p", { class: "note" }, "no such turn"));
    const texts = new Map(twin ? twin.lines.map((line) => [line.speaker, line]) : []);
    return el(
      "div",
      {},
      other ? matches(row.tracked, true) : null,
      row.lines.map((line) => {
        const against = texts.get(line.speaker);
        const differs = against && against.text !== line.text;
        const words = differs
          ? wordDifference(...(mark === "del" ? [line.text, against.text] : [against.text, line.text]))[
              mark === "del" ? 0 : 1
            ]
          : null;
        return [
          line.text ? lineBlock(line, { query: options.query, words, mark }) : null,
          line.answer ? answerBlocks(line.answer) : null,
          line.number >= 0 ? [stateBlock(line), trackedBlocks(line, go)] : null,
        ];
      }),
    );
  }
}
