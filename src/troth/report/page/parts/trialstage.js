// The trajectory that is looked at, and its explorer.
class TrialStage extends Stage {
  constructor(link, step) {
    super(link, step);
    this.beside = ""; // "all", or the key of another trial
  }

  key(item, _, query) {
    return `${item.place}/${query}/${this.beside}`;
  }

  #siblings(corpus, item) {
    return corpus.byTask.get(item.id);
  }

  draw(corpus, item, view, query, place) {
    const siblings = this.#siblings(corpus, item);
    const others = siblings.filter((one) => one !== item);
    if (this.beside !== "all" && !others.includes(this.#other(corpus))) this.beside = "";
    if (this.beside === "all" && !others.length) this.beside = "";
    this.drawn = this.key(item, view, query);
    const again = (event) => {
      this.beside = event.target.value;
      this.draw(corpus, item, view, query, place);
    };
    const named = others.map((one) => [one, `${trialName(corpus, one, siblings)} (${OUTCOME[one.outcome][1]})`]);
    const offered = [["", "nothing beside"], ["all", "all trials: calls"], ...named.map(([one, name]) => [keyOf(one), name])];
    const select = el(
      "select",
      { "aria-label": "Beside", onchange: again },
      offered.map(([value, text]) => el("option", { value, selected: value === this.beside }, text)),
    );
    const linkTo = (one, at) => this.link(one, at);
    const options = { query, link: (at) => linkTo(item, at), linkTo };
    const parts = [
      this.#head(corpus, item, others.length ? select : null, place),
      others.length ? this.#strip(corpus, item, siblings) : null,
      ...this.#body(corpus, item, siblings, options),
    ];
    this.element.replaceChildren(...parts.filter(Boolean));
    this.element.scrollTop = 0;
  }

  #other(corpus) {
    return corpus.byKey.get(this.beside);
  }

  #body(corpus, item, siblings, options) {
    if (this.beside === "all") return [allTrials(corpus, siblings, options)];
    const other = this.#other(corpus);
    if (!other) return [legendLine(), trialRows(corpus, item, options)];
    const heads = [item, other].map((one) => {
      const [sign, text] = OUTCOME[one.outcome];
      return el("div", { class: "column-head" }, `${trialName(corpus, one, siblings)} ${sign} ${text}`);
    });
    const columns = el("div", { class: "columns", css: { padding: "0 1rem" } }, heads);
    const head = el("div", { class: "turn duo", css: { "--columns": "2" } }, el("div"), el("div"), columns);
    return [head, pairRows(corpus, [item, other], options)];
  }

  #head(corpus, item, beside, place) {
    const { raw } = item;
    const usage = Object.entries(raw.usage || {}).map(([name, n]) => `${shown(n)} ${name.replaceAll("_", " ")}`);
    const told = [
      corpus.systems.length > 1 ? corpus.systems[item.system] : "",
      OUTCOME[item.outcome][1],
      raw.error ? `not gold's calls: ${raw.error.replaceAll("_", " ")}` : "",
      raw.first_wrong_turn === undefined ? "" : `first mistake in turn ${raw.first_wrong_turn}`,
      ...usage,
    ];
    return el(
      "div",
      { class: "stage-head" },
      el("h1", {}, `Task ${item.id}, trial ${item.trial}`),
      el("p", { class: "sub" }, told.filter(Boolean).join(" · ")),
      this.controls(beside, place),
    );
  }

  // A link to each trial of the task, with its outcome.
  #strip(corpus, item, siblings) {
    const kinds = { solved: "right", failed: "fresh", unknown: "" };
    const links = siblings.map((one) => {
      const [sign, text] = OUTCOME[one.outcome];
      const current = one === item ? "true" : null;
      const attributes = { class: kinds[one.outcome], href: this.link(one, ""), title: text, "aria-current": current };
      return el("a", attributes, `${trialName(corpus, one, siblings)} ${sign}`);
    });
    return el("nav", { class: "overview trials", "aria-label": "Trials of this task" }, links);
  }

  // A turn (3), a message (m12), or the place where two trials part.
  mark(at, scroll) {
    const message = /^m\d+$/.test(at)
      ? [...this.element.querySelectorAll("[data-message]")].find((one) => one.dataset.message === at.slice(1))
      : null;
    const row = message ? message.closest(".turn") : null;
    super.mark(row ? row.dataset.turn : at, scroll && !message);
    const line = at === "parting" ? this.element.querySelector(".parting") : null;
    if (message && scroll) this.flash(message, message);
    if (line && scroll) line.scrollIntoView({ block: "center" });
  }
}

const keyOf = (item) => trialKey(item.system, item.id, item.trial);

const legendLine = () =>
  el(
    "p",
    { class: "note legend-line" },
    el("span", { class: "claim yes" }, "supported"),
    " rests on what it had seen, ",
    el("span", { class: "claim no" }, "unsupported"),
    " does not. Calls: ✓ as gold has it, ≠ other arguments, + not expected, · not compared.",
  );

class TrialExplorer extends Explorer {
  constructor() {
    super({
      id: "trajectories",
      noun: "trajectory",
      load: loadTrials,
      filters: new TrialFilters(() => this.filter()),
      stage: new TrialStage(
        (item, place) => this.link(item, place),
        (by) => this.step(by),
      ),
      mistakes: ".first, .call.wrong, .call.extra, .claim.no, .unsourced",
    });
  }

  link(item, place) {
    const system = this.corpus.systems.length > 1 ? this.corpus.systems[item.system] : "";
    return trialLink(item.id, String(item.trial), place, system, "");
  }

  rowParts(item) {
    const [sign, text] = OUTCOME[item.outcome];
    const system = this.corpus.systems.length > 1 && !this.filters.view ? this.corpus.systems[item.system] : "";
    const name = [`task ${item.id}`, el("small", {}, ` trial ${item.trial}${system ? `, ${system}` : ""}`)];
    return { name, told: `${sign} ${text}`, verdicts: item.verdicts };
  }

  show(task, trial, place, system, beside) {
    if (!this.corpus) {
      this.wanted = [task, trial, place, system, beside];
      this.start();
      return;
    }
    this.wanted = null;
    const { systems, byKey, items } = this.corpus;
    const asked = Math.max(0, systems.indexOf(system));
    const item = byKey.get(trialKey(asked, task, trial)) || items.find((one) => one.id === task);
    if (!item) {
      this.stage.say(`No task here is called ${task}.`);
      return;
    }
    // A message is shown in its own trial alone; another trial stays beside one that is merely looked at.
    if (beside) this.stage.beside = beside === "all" ? "all" : trialKey(item.system, task, beside);
    else if (place || !this.#fits(item)) this.stage.beside = "";
    this.lookAt(item, place);
  }

  #fits(item) {
    const other = this.corpus.byKey.get(this.stage.beside);
    return other ? other.id === item.id && other !== item : this.stage.beside === "";
  }
}
