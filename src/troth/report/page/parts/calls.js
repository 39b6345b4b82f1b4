// Messages, calls and results. All of it is other people's text, and goes in as text.
const VERDICTS = {
  right: ["✓", "as gold has it"],
  wrong: ["≠", "other arguments than gold's"],
  extra: ["+", "gold expects no such call"],
  uncounted: ["·", "not counted by the matching rule"],
  unknown: ["·", "no gold to compare with"],
};
const SPEAKERS = { user: "U", assistant: "A", system: "S", tool: "R" };
const LONG = { text: 320, value: 160, lines: 7, shown: 140 };

// A text, folded where it is long; of JSON, the opened one has a line for each field.
function folded(text, limit = LONG.text) {
  if (text.length <= limit && text.split("\n").length <= LONG.lines) return el("span", { class: "plain" }, text);
  const whole = el("pre", {});
  const start = text.slice(0, LONG.shown).replace(/\s+/g, " ");
  const size = `${text.length.toLocaleString("en")} characters`;
  const fill = () => whole.textContent || whole.append(indented(text));
  return el(
    "details",
    { class: "folded", ontoggle: fill },
    el("summary", {}, start, "… ", el("small", {}, size)),
    whole,
  );
}

function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 1);
  } catch {
    return text;
  }
}

// JSON in one line, with spaces at which it can break.
const asText = (value) =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 1) ?? "").replace(/\n */g, " ");

// Pieces of a text that must rest on something, coloured by whether they do. Places count characters, not code units.
function claimed(text, claims, options) {
  if (!claims.length) return highlighted(text, options.query);
  const letters = Array.from(text);
  const made = [];
  let from = 0;
  for (const claim of claims) {
    if (claim.start < from) continue; // a name inside a claim: the outer one is shown
    made.push(highlighted(letters.slice(from, claim.start).join(""), options.query));
    made.push(claimMark(letters.slice(claim.start, claim.end).join(""), claim, options));
    from = claim.end;
  }
  return [...made, highlighted(letters.slice(from).join(""), options.query)];
}

function claimMark(text, claim, options) {
  const what = claim.kind === "action" ? "claim of a done action" : claim.kind;
  const supported = claim.source === undefined ? "follows from other numbers of the answer" : "supported";
  const title = `${what}: ${claim.supported ? supported : "nothing before it supports this"}`;
  const kind = `claim ${claim.supported ? "yes" : "no"}${claim.kind === "action" ? " action" : ""}`;
  if (claim.source === undefined) return el("span", { class: kind, title }, text);
  return el("a", { class: kind, title: `${title}, see its source`, href: options.link(`m${claim.source}`) }, text);
}

function messageBlock(corpus, message, raw, options) {
  const text = corpus.texts[message.text];
  const calls = (message.calls || []).map((call) => callBlock(corpus, call, raw, options));
  const speaker = SPEAKERS[message.role] || "?";
  const long = message.role === "system" || message.role === "tool";
  const kind = message.role === "user" ? "user" : "system";
  const said = long ? folded(text) : claimed(text, message.claims || [], options);
  return el(
    "div",
    { class: "message", "data-message": message.index },
    text
      ? el(
          "div",
          { class: `line ${kind}` },
          el("span", { class: "speaker", title: message.role }, speaker),
          el(long ? "div" : "p", { class: message.error ? "said error" : "said" }, said),
        )
      : null,
    calls,
  );
}

function callBlock(corpus, call, raw, options) {
  const [sign, meaning] = VERDICTS[call.verdict || "unknown"] || VERDICTS.unknown;
  const gold = call.gold === undefined ? null : (raw.gold || [])[call.gold];
  const result = call.result === undefined ? null : messagesOf(raw).find((one) => one.index === call.result);
  const noted = [
    call.failed ? "failed" : "",
    call.repeats ? "repeats an earlier call" : "",
    call.writes ? "changes something" : "",
    call.forbidden ? `forbidden: ${call.forbidden}` : "",
  ].filter(Boolean);
  return el(
    "div",
    { class: `call ${call.verdict || "unknown"}${call.failed ? " failed" : ""}` },
    el(
      "p",
      { class: "call-head" },
      el("b", { class: "sign", title: meaning }, sign),
      el("span", { class: "visually-hidden" }, `${meaning}: `),
      el("code", {}, highlighted(call.tool, options.query)),
      noted.map((text) => el("small", { class: text === "changes something" ? "tag" : "tag bad" }, text)),
    ),
    call.broken !== undefined ? el("div", { class: "arg bad" }, folded(call.broken)) : null,
    argumentRows(call, gold),
    Object.entries(call.unsourced || {}).map(([name, value]) =>
      el("p", { class: "unsourced" }, el("b", {}, `${name} = ${value}`), ": nobody said this, and no result held it"),
    ),
    result
      ? el(
          "div",
          { class: result.error || call.failed ? "result error" : "result", "data-message": result.index },
          el("span", { class: "speaker", title: "result" }, "→"),
          corpus.texts[result.text] ? folded(corpus.texts[result.text]) : el("i", {}, "empty"),
        )
      : null,
  );
}

// The arguments of a call, each wrong one with gold's value under it; then those that only gold has.
function argumentRows(call, gold) {
  const wrong = new Set(call.wrong || []);
  const given = call.arguments || {};
  const accepted = (name) => ((gold && (gold.arguments || {})[name]) || []).map(asText);
  const row = (name, value) =>
    el(
      "div",
      { class: wrong.has(name) ? "arg bad" : "arg" },
      el("span", { class: "name" }, name),
      el("span", { class: "value" }, value === undefined ? el("i", {}, "absent") : folded(asText(value), LONG.value)),
      wrong.has(name) ? el("span", { class: "should" }, "gold ", el("b", {}, accepted(name).join(" | ") || "none")) : null,
    );
  const absent = [...wrong].filter((name) => !Object.hasOwn(given, name));
  return [...Object.entries(given).map(([name, value]) => row(name, value)), ...absent.map((name) => row(name))];
}

// A call as gold has it, beside what was done: all of one that was not made, of another what differs.
function goldBlock(gold, raw) {
  const [sign, meaning, kind] = gold.matched
    ? ["✓", "made", "right"]
    : isMissing(gold)
      ? ["−", "not made", "missing"]
      : ["≠", "made with other arguments", "wrong"];
  const made = callsOf(raw).find(([call]) => call.gold !== undefined && raw.gold[call.gold] === gold);
  const asked = Object.entries(gold.arguments || {});
  const differing = kind === "wrong" && made ? asked.filter(([name]) => (made[0].wrong || []).includes(name)) : asked;
  const head = [el("b", { class: "sign" }, sign), el("code", {}, gold.tool), el("small", { class: "tag" }, meaning)];
  const rows = (kind === "right" ? [] : differing).map(([name, values]) =>
    el(
      "div",
      { class: "arg" },
      el("span", { class: "name" }, name),
      el("span", { class: "value" }, folded(values.map(asText).join(" | "), LONG.value)),
    ),
  );
  return el("div", { class: `call gold ${kind}` }, el("p", { class: "call-head" }, head), rows);
}
