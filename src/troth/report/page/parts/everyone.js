// All systems beside each other: what was said and gold's state once, then who got which slot wrong, and how.
// `views`: of one dialogue, a view for each system.
function everyoneRows(views, options) {
  const others = views.map((view) => new Map(exchanges(view).map((row) => [row.anchor, row])));
  const go = (number) => options.go(String(number));
  const made = exchanges(views[0]).map((row) => {
    const mine = views.map((view, i) => ({ system: view.system, row: others[i].get(row.anchor) }));
    const anchor = el("a", { href: options.link(row.anchor), title: "link to this turn" }, row.label);
    return el(
      "div",
      { class: "turn", id: `turn-${row.anchor}`, "data-turn": row.anchor },
      el("div"),
      el("div", { class: "number" }, anchor),
      el(
        "div",
        { class: "body" },
        row.lines.map((line) => [
          line.text ? lineBlock(line, { query: options.query }) : null,
          line.number >= 0 ? stateBlock({ gold: line.gold }) : null,
        ]),
        verdictLines(mine, options.corpus, go),
      ),
    );
  });
  return el("div", { class: "turns everyone" }, made);
}

// Slots that some system gets wrong, those that one gets wrong here first; then who is right; then answers.
function verdictLines(mine, corpus, go) {
  const name = (system) => el("span", { class: "who" }, swatchOf(corpus, system), corpus.systems[system]);
  const slots = new Map();
  const silent = [];
  const right = [];
  for (const { system, row } of mine) {
    const found = row && row.tracked;
    if (!found || found.verdict === "none") continue;
    if (found.missing) silent.push(system);
    else if (!found.faults.length) right.push(system);
    for (const fault of found.missing ? [] : found.faults) addFault(slots, system, fault, row.number);
  }
  const sorted = [...slots.values()].sort((a, b) => a.old - b.old);
  const one = (kind, told, systems) => el("div", { class: `one ${kind}` }, el("p", {}, told, systems.map(name)));
  return el(
    "div",
    { class: "ones" },
    sorted.map((slot) => slotLines(slot, name, go)),
    silent.length ? one("fresh", "nothing predicted", silent) : null,
    right.length ? one("right", el("span", { class: "verdict" }, "✓ right"), right) : null,
    mine.map(({ system, row }) =>
      (row ? row.lines : [])
        .filter((line) => line.answer)
        .map((line) => el("div", { class: "one" }, el("p", {}, name(system)), answerBlocks(line.answer))),
    ),
  );
}

// Systems with the same mistake in a slot are told together.
function addFault(slots, system, fault, number) {
  const key = `${fault.service}\n${fault.slot}`;
  const slot = slots.get(key) || { fault, old: true, groups: new Map() };
  const old = fault.since !== number;
  const same = JSON.stringify([fault.kind, valueText(fault.pred), old ? fault.since : -1]);
  const group = slot.groups.get(same) || { fault, old, systems: [] };
  group.systems.push(system);
  slot.groups.set(same, group);
  slot.old &&= old;
  slots.set(key, slot);
}

function slotLines({ fault, old, groups }, name, go) {
  const gold = fault.gold ? el("span", { class: "gold" }, "gold ", el("b", {}, fault.gold.values.join(" | "))) : null;
  const sorted = [...groups.values()].sort((a, b) => a.old - b.old || b.systems.length - a.systems.length);
  return el(
    "div",
    { class: old ? "fault old" : "fault" },
    el("span", { class: "what" }, fault.service ? `${fault.service}.${fault.slot}` : fault.slot),
    gold,
    sorted.map((group) =>
      el(
        "p",
        { class: group.old ? "same old" : "same" },
        el("span", { class: "sign", "aria-hidden": "true" }, SIGNS[group.fault.kind]),
        el("span", { class: "kind" }, SAID[group.fault.kind]),
        group.fault.pred ? el("span", { class: "pred" }, el("b", {}, valueText(group.fault.pred))) : null,
        group.systems.map(name),
        group.old ? sinceButton(group.fault.since, go) : null,
      ),
    ),
  );
}

const swatchOf = (corpus, system) => {
  const place = page.systems.indexOf(corpus.systems[system]);
  return place < 0 ? null : swatch(place);
};

// A line of verdicts for each system.
function everyoneOverview(views, corpus, link) {
  const rows = views
    .filter((view) => view.lines.some((line) => line.tracked))
    .map((view) =>
      el(
        "div",
        { class: "overview" },
        el("span", { class: "who" }, swatchOf(corpus, view.system), corpus.systems[view.system]),
        verdictCells(view, link),
      ),
    );
  return el("nav", { class: "overviews", "aria-label": "Turns" }, rows);
}
