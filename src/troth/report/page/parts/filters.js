// What is looked for: a system's point of view, and which dialogues are shown.
const METRICS = [
  ["jga", "wrong by JGA"],
  ["turn_match", "wrong by turn match"],
  ["inherited", "wrong by JGA, right by turn match"],
  ["right", "right throughout"],
];
const ANSWERS = [
  ["sgsacc", "a response loses an act"],
  ["ser", "a response lacks a value"],
];
const VERDICT = {
  jga: (track) => track.tracked && track.verdicts.some((one) => one === "fresh" || one === "inherited"),
  turn_match: (track) => track.tracked && track.verdicts.includes("fresh"),
  inherited: (track) => track.tracked && track.verdicts.includes("inherited"),
  right: (track) => !track.verdicts.some((one) => one === "fresh" || one === "inherited"),
  sgsacc: (track) => track.answers.includes("fresh"),
  ser: (track) => track.lacks,
};

class Filters {
  constructor(changed) {
    this.changed = changed;
    this.corpus = null;
    this.slots = new Map();
    this.search = searchBox("search", "Search what was said, or an id", () => this.#chosen());
    const pick = (label) => el("select", { "aria-label": label, onchange: () => this.#chosen() });
    this.system = pick("System");
    this.set = pick("Set");
    this.service = pick("Service");
    this.slot = pick("Slot");
    this.kind = pick("Kind of mistake");
    this.metric = pick("Verdict");
    this.count = el("span", { "aria-live": "polite" });
    this.clear = el("button", { class: "csv", type: "button", onclick: () => this.reset() }, "clear");
    const two = (...pair) => el("div", { class: "two" }, pair);
    this.element = el(
      "div",
      { class: "filters" },
      this.search,
      two(this.system, this.set),
      two(this.service, this.slot),
      two(this.kind, this.metric),
      el("div", { class: "found" }, this.count, this.clear),
    );
  }

  get query() {
    return this.search.value.trim().toLowerCase();
  }

  get view() {
    return Number(this.system.value || 0);
  }

  // The choices that the dialogues give.
  fill(corpus) {
    this.corpus = corpus;
    const tracks = corpus.items.flatMap((item) => [...item.tracks.values()]);
    const faults = tracks.flatMap((track) => track.faults);
    const services = [...new Set(corpus.items.flatMap((item) => item.services))];
    for (const [service, slot] of faults) this.slots.set(`${service}/${slot}`, [service, slot]);
    choices(this.system, corpus.systems.map(numbered));
    choices(
      this.set,
      corpus.sets.map((name, i) => [String(i), name || "original"]),
      "every set",
      2,
    );
    choices(this.service, sorted(services.map((place) => [String(place), corpus.texts[place]])), "every service");
    const kinds = corpus.kinds.map((kind, i) => [String(i), `${SIGNS[kind]} ${SAID[kind]}`]);
    choices(this.kind, faults.length ? kinds : [], "any mistake");
    const answered = tracks.some((track) => track.answers.length);
    choices(this.metric, [...METRICS.slice(faults.length ? 0 : 3), ...(answered ? ANSWERS : [])], "any verdict");
    this.#slotChoices();
  }

  #slotChoices() {
    const { texts } = this.corpus;
    const mine = [...this.slots.values()].filter(([service]) => this.#is(this.service, service));
    const name = ([service, slot]) => (this.service.value ? [texts[slot]] : [texts[service], texts[slot]]);
    const pairs = mine.map((pair) => [pair.join("/"), name(pair).filter(Boolean).join(".")]);
    choices(this.slot, sorted(pairs), "every slot");
  }

  #is(select, place) {
    return !select.value || select.value === String(place);
  }

  passes(item) {
    const track = item.tracks.get(this.view);
    if (!track || !this.#is(this.set, item.set)) return false;
    if (this.service.value && !item.services.some((one) => this.#is(this.service, one))) return false;
    const asked = this.slot.value || this.kind.value;
    if (asked && !track.faults.some((fault) => this.#asked(fault))) return false;
    if (this.metric.value && !VERDICT[this.metric.value](track)) return false;
    return !this.query || searchable(this.corpus, item).includes(this.query);
  }

  // Service, slot and kind in one and the same mistake.
  #asked([service, slot, kind]) {
    const here = !this.slot.value || this.slot.value === `${service}/${slot}`;
    return here && this.#is(this.service, service) && this.#is(this.kind, kind);
  }

  told(found) {
    const [some, all] = [found, this.corpus.items.length].map((number) => number.toLocaleString("en"));
    this.count.textContent = some === all ? `${all} dialogues` : `${some} of ${all} dialogues`;
    const chosen = [this.set, this.service, this.slot, this.kind, this.metric].some((select) => select.value);
    this.clear.classList.toggle("hidden", !chosen && !this.query);
  }

  reset() {
    this.search.value = "";
    for (const select of [this.set, this.service, this.slot, this.kind, this.metric]) select.value = "";
    this.#chosen();
  }

  #chosen() {
    if (!this.corpus) return;
    this.#slotChoices();
    this.changed();
  }
}

// A field that says when its text has changed, once nothing more is typed.
function searchBox(id, placeholder, changed) {
  let typing = null;
  const box = el("input", {
    type: "search",
    id,
    placeholder,
    "aria-label": "Search",
    oninput: () => {
      clearTimeout(typing);
      typing = setTimeout(changed, 90);
    },
    onkeydown: (event) => {
      if (event.key !== "Escape" && event.key !== "Enter") return;
      box.blur();
      event.preventDefault();
    },
  });
  return box;
}

const numbered = (name, i) => [String(i), name];
const sorted = (pairs) => pairs.sort((a, b) => a[1].localeCompare(b[1]));

// Options of a select; what was chosen stays so where it is still there. Hidden where there is nothing to choose.
function choices(select, pairs, every, least = every ? 1 : 2) {
  const before = select.value;
  const offered = pairs.length < least ? [] : every ? [["", every], ...pairs] : pairs;
  select.replaceChildren(...offered.map(([value, text]) => el("option", { value }, text)));
  if (offered.some(([value]) => value === before)) select.value = before;
  select.classList.toggle("hidden", !offered.length);
}
