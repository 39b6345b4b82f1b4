// Which trajectories are shown: by system, tool, outcome, and what is found in them.
const FOUND = [
  ["solved", "solved", (item) => item.outcome === "solved"],
  ["failed", "failed", (item) => item.outcome === "failed"],
  ["wavers", "its task wavers", (item) => item.wavers],
  ["wrong", "a call is not gold's", (item) => item.calls.some((call) => ["wrong", "extra"].includes(call.verdict))],
  ["missing", "a call of gold is missing", (item) => (item.raw.gold || []).some(isMissing)],
  ["claim", "claims what it did not do", (item) => item.unclaimed],
  ["detail", "says what it has not seen", (item) => item.unsupported],
  ["value", "a value that nobody said", (item) => item.calls.some((call) => call.unsourced)],
  ["errors", "a call fails", (item) => item.calls.some((call) => call.failed)],
  ["forbidden", "a call the tools forbid", (item) => item.calls.some((call) => call.forbidden)],
  ["repeats", "a call is repeated", (item) => item.calls.some((call) => call.repeats)],
];
const isMissing = (gold) => gold.message === undefined && !gold.matched;

class TrialFilters {
  constructor(changed) {
    this.changed = changed;
    this.corpus = null;
    this.search = searchBox("search-trials", "Search what was said or called", () => this.#chosen());
    const pick = (label) => el("select", { "aria-label": label, onchange: () => this.#chosen() });
    this.system = pick("System");
    this.tool = pick("Tool");
    this.kind = pick("Found");
    this.count = el("span", { "aria-live": "polite" });
    this.clear = el("button", { class: "csv", type: "button", onclick: () => this.reset() }, "clear");
    const two = el("div", { class: "two" }, this.tool, this.kind);
    const told = el("div", { class: "found" }, this.count, this.clear);
    this.element = el("div", { class: "filters" }, this.search, this.system, two, told);
  }

  get query() {
    return this.search.value.trim().toLowerCase();
  }

  get view() {
    return this.system.value;
  }

  fill(corpus) {
    this.corpus = corpus;
    const tools = [...new Set(corpus.items.flatMap((item) => [...item.tools]))];
    choices(this.system, corpus.systems.map(numbered), "every system", 2);
    choices(this.tool, sorted(tools.map((name) => [name, name])), "every tool");
    const present = FOUND.filter(([, , test]) => corpus.items.some(test));
    choices(this.kind, present.map(([value, text]) => [value, text]), "any finding");
  }

  passes(item) {
    if (this.system.value && this.system.value !== String(item.system)) return false;
    if (this.tool.value && !item.tools.has(this.tool.value)) return false;
    const asked = FOUND.find(([value]) => value === this.kind.value);
    if (asked && !asked[2](item)) return false;
    return !this.query || searchableTrial(this.corpus, item).includes(this.query);
  }

  told(found) {
    const [some, all] = [found, this.corpus.items.length].map((number) => number.toLocaleString("en"));
    this.count.textContent = some === all ? `${all} trajectories` : `${some} of ${all} trajectories`;
    const chosen = [this.system, this.tool, this.kind].some((select) => select.value);
    this.clear.classList.toggle("hidden", !chosen && !this.query);
  }

  reset() {
    this.search.value = "";
    for (const select of [this.system, this.tool, this.kind]) select.value = "";
    this.#chosen();
  }

  #chosen() {
    if (this.corpus) this.changed();
  }
}
