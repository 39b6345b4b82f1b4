// The dialogue that is looked at: its head, its turns, and what stands beside it.
const MEANING = {
  right: ["✓", "right"],
  fresh: ["✕", "a mistake of its own"],
  inherited: ["↳", "wrong only by an earlier mistake"],
  none: ["·", "not scored"],
};

class Stage {
  // `link` makes a turn's address, `step` moves to another dialogue.
  constructor(link, step) {
    this.link = link;
    this.step = step;
    this.beside = null; // nothing chosen yet
    this.drawn = "";
    this.element = el("div", { class: "stage", tabindex: -1 });
  }

  say(text) {
    this.drawn = "";
    this.element.replaceChildren(el("p", { class: "empty" }, text));
  }

  // Other systems on the same dialogue, and its twins in other sets.
  #choices(corpus, item, system) {
    const systems = [...item.tracks.keys()].filter((one) => one !== system);
    const twins = [...corpus.sets.keys()].filter((set) => set !== item.set && corpus.byKey.has(`${set}/${item.id}`));
    return [
      ...(systems.length > 1 ? [["all", "all systems"]] : []),
      ...systems.map((one) => [`system:${one}`, corpus.systems[one]]),
      ...twins.map((set) => [`set:${set}`, `its twin: ${corpus.sets[set] || "original"}`]),
    ];
  }

  // Until something is chosen, a perturbed dialogue stands beside its original.
  #chosen(corpus, item, choices) {
    const original = corpus.sets.indexOf("");
    const wish = this.beside ?? (item.set !== original ? `set:${original}` : "");
    return choices.some(([value]) => value === wish) ? wish : "";
  }

  #other(corpus, item, system, chosen) {
    if (!chosen || chosen === "all") return null;
    const [kind, place] = chosen.split(":");
    if (kind === "system") return unpacked(corpus, item, Number(place));
    const twin = corpus.byKey.get(`${place}/${item.id}`);
    return unpacked(corpus, twin, twin.tracks.has(system) ? system : twin.tracks.keys().next().value);
  }

  key(item, system, query) {
    return `${item.place}/${system}/${query}`;
  }

  // `place`: where among those found it is, and how many there are.
  draw(corpus, item, system, query, place) {
    this.drawn = this.key(item, system, query);
    const choices = this.#choices(corpus, item, system);
    const chosen = this.#chosen(corpus, item, choices);
    const view = unpacked(corpus, item, system);
    const other = this.#other(corpus, item, system, chosen);
    const swap = Boolean(other) && other.item !== item && !corpus.sets[other.item.set];
    const again = (event) => {
      this.beside = event.target.value;
      this.draw(corpus, item, system, query, place);
      this.mark(this.at, false);
    };
    const beside = el(
      "select",
      { "aria-label": "Beside", onchange: again },
      [["", "nothing beside"], ...choices].map(([value, text]) =>
        el("option", { value, selected: value === chosen }, text),
      ),
    );
    const link = (turn) => this.link(item, turn);
    const head = this.#head(corpus, view, choices.length ? beside : null, place);
    const options = { swap, query, link, corpus, go: (turn) => (location.hash = link(turn)) };
    const everyone = chosen === "all" ? [...item.tracks.keys()].sort((a, b) => a - b) : [];
    const views = everyone.map((one) => unpacked(corpus, item, one));
    const parts = views.length
      ? [head, everyoneOverview(views, corpus, link), everyoneRows(views, options)]
      : [
          head,
          el("nav", { class: "overview", "aria-label": "Turns" }, verdictCells(view, link)),
          other ? this.#columnHeads(corpus, swap ? [other, view] : [view, other]) : null,
          turnRows(view, other, options),
        ];
    this.element.replaceChildren(...parts.filter(Boolean));
    this.element.scrollTop = 0;
  }

  #head(corpus, view, beside, place) {
    const set = corpus.sets[view.item.set];
    const system = corpus.systems.length > 1 ? corpus.systems[view.system] : "";
    const told = [set ? `set ${set}` : "", system, view.services.join(", "), this.#sum(view)];
    return el(
      "div",
      { class: "stage-head" },
      el("h1", {}, view.item.id),
      el("p", { class: "sub" }, told.filter(Boolean).join(" · ")),
      this.controls(beside, place),
    );
  }

  controls(beside, [at, all]) {
    const button = (text, by, ended) =>
      el("button", { class: "button", type: "button", disabled: ended, onclick: () => this.step(by) }, text);
    const pair = [button("‹ previous", -1, at <= 0), button("next ›", 1, at < 0 || at >= all - 1)];
    return el("div", { class: "controls" }, beside, pair);
  }

  #sum(view) {
    const { verdicts } = view.item.tracks.get(view.system);
    const number = (name) => verdicts.filter((one) => one === name).length;
    if (!view.lines.some((line) => line.tracked))
      return `${number("right")} of ${verdicts.length} responses say it all`;
    const [fresh, inherited] = [number("fresh"), number("inherited")];
    const parts = [
      `right in ${number("right")} of ${verdicts.length} turns`,
      fresh ? `${fresh} with a mistake of their own` : "",
      inherited ? `${inherited} only by an earlier one` : "",
    ];
    return parts.filter(Boolean).join(", ");
  }

  #columnHeads(corpus, views) {
    const name = (one) => [corpus.systems[one.system], corpus.sets[one.item.set]].filter(Boolean).join(", ");
    const heads = views.map((one) => el("div", { class: "column-head" }, name(one)));
    const columns = el("div", { class: "columns", css: { padding: "0 1rem" } }, heads);
    return el("div", { class: "turn", css: { "--columns": "2" } }, el("div"), el("div"), columns);
  }

  rows() {
    return [...this.element.querySelectorAll(".turn[data-turn]")];
  }

  // The turn that a link points at.
  mark(at, scroll) {
    this.at = at;
    for (const row of this.rows()) row.classList.toggle("at", row.dataset.turn === at);
    const row = this.rows().find((one) => one.dataset.turn === at);
    if (row && scroll) this.flash(row, row.querySelector(".body"));
  }

  flash(row, body) {
    row.scrollIntoView({ block: "nearest" });
    body.classList.remove("flash");
    void body.offsetWidth; // so that it begins anew
    body.classList.add("flash");
  }
}

// A link to each turn, with its verdict.
function verdictCells(view, link) {
  return view.lines
    .filter((line) => line.tracked)
    .map(({ number, tracked }) => {
      const [sign, meaning] = MEANING[tracked.verdict];
      const title = `turn ${number}: ${meaning}`;
      return el("a", { class: tracked.verdict, href: link(number), title }, `${number} ${sign}`);
    });
}
