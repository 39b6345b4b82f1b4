// Trials of one task side by side, aligned, with a line where they part.

// What two messages have in common if they are the same: calls by tool and arguments, others by their words.
const unitKey = (corpus, unit) =>
  unit.calls ? unit.calls.map(sameCall).join("\n") : `${unit.role}: ${corpus.texts[unit.text]}`;
const unitKind = (unit) => unit.role + (unit.calls ? " calls" : "");

// Pairs of messages in order: equal ones in one row, those between them by what kind they are.
function alignedUnits(corpus, left, right) {
  const [a, b] = [left, right].map((units) => units.map((unit) => unitKey(corpus, unit)));
  const table = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
  const rows = [];
  let [i, j] = [0, 0];
  let [ours, theirs] = [[], []];
  const flush = () => {
    rows.push(...byKind(ours, theirs));
    [ours, theirs] = [[], []];
  };
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      flush();
      rows.push({ left: left[i++], right: right[j++], same: true });
    } else if (j >= b.length || (i < a.length && table[i + 1][j] >= table[i][j + 1])) ours.push(left[i++]);
    else theirs.push(right[j++]);
  }
  flush();
  return rows;
}

function byKind(left, right) {
  const rows = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    const both = i < left.length && j < right.length;
    if (both && unitKind(left[i]) === unitKind(right[j])) rows.push({ left: left[i++], right: right[j++] });
    else if (j >= right.length || (both && left.length - i >= right.length - j)) rows.push({ left: left[i++] });
    else rows.push({ right: right[j++] });
  }
  return rows;
}

const until = (units, message) => (message === null ? units : units.filter((unit) => unit.index < message));
const after = (units, message) => (message === null ? [] : units.filter((unit) => unit.index >= message));

// `views`: the two items. Each half is aligned by itself, so that the calls at which they part stand in one row.
function pairRows(corpus, views, options) {
  const [left, right] = views.map((item) => unitsOf(item.raw).filter((unit) => unit.role !== "system"));
  const parting = partingOf(...views);
  const [here, there] = parting || [null, null];
  const before = alignedUnits(corpus, until(left, here), until(right, there));
  const later = parting ? alignedUnits(corpus, after(left, here), after(right, there)) : [];
  const cell = (unit, item) => {
    if (!unit) return el("div", {});
    const link = (place) => options.linkTo(item, place);
    return el("div", { "data-trial": trialName(corpus, item, views) }, messageBlock(corpus, unit, item.raw, { ...options, link }));
  };
  let place = 0;
  const row = ({ left, right, same }) => {
    const unit = left?.role === "user" ? left : right?.role === "user" ? right : null;
    place += 1;
    return el(
      "div",
      { class: same ? "turn duo alike" : "turn duo", "data-turn": `r${place}`, css: { "--columns": "2" } },
      el("div"),
      el("div", { class: "number" }, unit ? turnName(unit.turn ?? -1) : ""),
      el("div", { class: "body" }, el("div", { class: "columns" }, cell(left, views[0]), cell(right, views[1]))),
    );
  };
  const told = parting
    ? partingLine(
        "They part here",
        [here, there].map((message, i) => (message === null ? `trial ${views[i].trial} changes nothing more` : "")),
      )
    : partingLine("They change the same things", []);
  return el("div", { class: "turns duos" }, before.map(row), told, later.map(row));
}

const partingLine = (text, more) =>
  el("p", { class: "parting", tabindex: -1 }, el("b", {}, text), more.filter(Boolean).map((one) => ` · ${one}`));

// All trials of a task as columns of calls: a row ends with the n-th call that changes something, which is compared.
function allTrials(corpus, items, options) {
  const steps = items.map((item) => stepsOf(item.raw));
  const most = Math.max(0, ...steps.map((one) => one.length));
  const key = (step) => (step && step.change ? sameCall(step.change[0]) : "");
  const differs = Array.from({ length: most }, (_, i) => new Set(steps.map((one) => key(one[i]))).size > 1);
  const parts = differs.indexOf(true);
  const heads = items.map((item) => {
    const [sign, text] = OUTCOME[item.outcome];
    const href = options.linkTo(item, "");
    return el("div", { class: `trial-head ${item.outcome}` }, el("a", { href }, trialName(corpus, item, items)), ` ${sign} ${text}`);
  });
  const rows = Array.from({ length: most }, (_, i) => {
    const equal = equalArguments(steps.map((one) => one[i]));
    return [
      i === parts ? el("p", { class: "parting" }, el("b", {}, "They part here")) : null,
      steps.map((one, n) => stepCell(corpus, one[i], items[n], { ...options, equal })),
    ];
  });
  const same = parts < 0 && most ? partingLine("They change the same things", []) : null;
  return el("div", { class: "side-scroll" }, el("div", { class: "all-trials", css: { "--trials": items.length } }, heads, rows, same));
}

// Calls in groups: each ends with one that changes something; the last may not.
function stepsOf(raw) {
  const steps = [];
  let reads = [];
  for (const pair of callsOf(raw)) {
    if (pair[0].writes && !pair[0].failed) {
      steps.push({ reads, change: pair });
      reads = [];
    } else reads.push(pair);
  }
  return reads.length ? [...steps, { reads, change: null }] : steps;
}

// Names of arguments that have the same value in every trial that changes something here, by the same tool.
function equalArguments(steps) {
  const calls = steps.filter((step) => step && step.change).map((step) => step.change[0]);
  if (calls.length < 2 || calls.some((call) => call.tool !== calls[0].tool || call.broken !== undefined)) return [];
  const value = (call, name) => canonical((call.arguments || {})[name]);
  const names = Object.keys(calls[0].arguments || {});
  return names.filter((name) => calls.every((call) => value(call, name) === value(calls[0], name)));
}

function stepCell(corpus, step, item, options) {
  if (!step) return el("div", { class: "step" });
  const link = (place) => options.linkTo(item, place);
  const small = ([call, message]) =>
    el(
      "p",
      { class: call.failed ? "read failed" : "read" },
      el("a", { href: link(`m${message.index}`) }, call.tool),
      call.failed ? " failed" : "",
    );
  const { change } = step;
  const { equal } = options;
  const kept = change && Object.entries(change[0].arguments || {}).filter(([name]) => !equal.includes(name));
  const call = change && { ...change[0], result: undefined, arguments: Object.fromEntries(kept) };
  if (call) call.wrong = (call.wrong || []).filter((name) => !equal.includes(name));
  const told = equal.length ? el("p", { class: "note" }, `and ${equal.length} equal in all trials`) : null;
  return el(
    "div",
    { class: "step" },
    step.reads.map(small),
    call ? [callBlock(corpus, call, item.raw, { ...options, link }), told] : null,
  );
}

function trialName(corpus, item, items) {
  const several = new Set(items.map((one) => one.system)).size > 1;
  return `${several ? `${corpus.systems[item.system]}, ` : ""}trial ${item.trial}`;
}
