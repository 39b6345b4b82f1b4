// Systems against a base that the reader chooses: what the tests say, in marks and in words.
const BASE = { chosen: null, changed: [] };
const LETTERS = { b: ["▲", "better", "mark better"], w: ["▼", "worse", "mark worse"] };

const several = (contest) => contest && contest.systems.length > 1;
const baseOf = (contest) => (contest.systems.includes(BASE.chosen) ? BASE.chosen : contest.base);
const testsOf = (contest) => contest.tests[BASE.chosen] ?? contest.tests[contest.base];

// Draws now, and again whenever another base is chosen.
function followBase(draw) {
  BASE.changed.push(draw);
  draw();
}

// b: better, w: worse, =: no difference shown, -: not compared.
function letterOf(contest, system, metric) {
  const marks = contest.marks[baseOf(contest)];
  return marks && metric >= 0 && system >= 0 ? marks[metric][system] : "-";
}

// The interval of a system's difference from the base.
function rangeOf(contest, key, system) {
  const count = contest.systems.length;
  const [a, b] = [contest.systems.indexOf(baseOf(contest)), contest.systems.indexOf(system)];
  const [i, j] = [Math.min(a, b), Math.max(a, b)];
  const pair = (contest.ranges || {})[key]?.[(i * (2 * count - i - 1)) / 2 + j - i - 1];
  if (!pair || pair[0] === null) return null;
  return a < b ? pair : [-pair[1], -pair[0]];
}

const signed = (value, isPercent) => {
  const text = isPercent ? percent(value) : (Math.round(value * 1000) / 1000 + 0).toFixed(3);
  return Number(text) > 0 ? `+${text}` : text;
};

// How one system's figure differs from the base's, for a card.
function markOf(contest, card, entry) {
  const base = baseOf(contest);
  const isPercent = card.percent !== false;
  if (entry.system === base) return contest.systems.length > 2 ? el("span", { class: "mark" }, "base") : null;
  const letter = letterOf(contest, contest.systems.indexOf(entry.system), contest.metrics.indexOf(card.key));
  const against = card.entries.find((one) => one.system === base);
  if (LETTERS[letter] && against) {
    const apart = entry.value - against.value;
    const size = signed(Math.abs(apart), isPercent).replace("+", "") + (isPercent ? " points" : "");
    const [sign, , kind] = LETTERS[letter];
    const side = `${size} ${apart > 0 ? "above" : "below"}`;
    const text = card.entries.length > MANY ? side : `${side} ${base}, beyond noise`;
    return el("span", { class: kind }, el("b", { "aria-hidden": "true" }, sign), text);
  }
  const range = letter === "=" ? rangeOf(contest, card.key, entry.system) : null;
  if (letter !== "=") return null;
  const [low, high] = (range || []).map((end) => signed(end, isPercent));
  const clear = range && (range[0] > 0 || range[1] < 0) ? " before the correction for many tests" : "";
  return el("span", { class: "mark" }, "no difference shown" + (range ? ` (${low} … ${high}${clear})` : ""));
}

// What marks and bold print in a table mean.
function marksNote(contest) {
  const bold = "Bold: the best, and what no paired test tells from it (Holm's correction over the systems).";
  const tests = testsOf(contest);
  if (!tests) return bold;
  const family = `${tests.toLocaleString("en")} ${tests === 1 ? "test" : "tests"} of this section`;
  const how = `paired randomisation, p < 0.05 with Holm's correction over the ${family}`;
  return `${bold} ▲ better, ▼ worse than ${baseOf(contest)} beyond noise in ${listed(contest.titles)} (${how}).`;
}

const listed = (items) => (items.length < 2 ? items.join("") : `${items.slice(0, -1).join(", ")} and ${items.at(-1)}`);

// The choice of a base, where there are three systems or more.
function baseChoice(contests) {
  const offered = new Set(contests.filter((one) => one.systems.length > 2).flatMap((one) => one.systems));
  if (!offered.size) return null;
  const names = page.systems.filter((name) => offered.has(name));
  const select = el(
    "select",
    {
      onchange: (event) => {
        BASE.chosen = event.target.value;
        for (const draw of BASE.changed) draw();
      },
    },
    names.map((name) => el("option", { value: name }, name)),
  );
  followBase(() => (select.value = BASE.chosen ?? contests.find((one) => one.systems.length > 2).base));
  return el("label", { class: "base" }, "Compared with ", select);
}
