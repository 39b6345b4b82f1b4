// The explorer: a list of any length, the dialogue or trajectory that is looked at, keys, and links to single turns.
const ROW = 58;

// #dialogue/turn, and where there are more than one: /set/system.
function turnLink(dialogue, turn, set, system) {
  const parts = [dialogue, turn, set || "", system || ""].map(encodeURIComponent);
  return "#" + parts.join("/").replace(/\/{1,2}$/, "");
}

const plural = (noun) => (noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`);
const titled = (noun) => plural(noun)[0].toUpperCase() + plural(noun).slice(1);

// A list of what the filters let through, and the one that is looked at. Dialogues and trajectories each have theirs,
// which say how a link is made (`link`), what a row shows (`rowParts`) and where a link leads (`show`).
class Explorer {
  // `load` gives the corpus; `mistakes` is what the key n looks for.
  constructor({ id, noun, load, filters, stage, mistakes }) {
    Object.assign(this, { noun, load, filters, stage, mistakes });
    this.corpus = null;
    this.found = [];
    this.current = null;
    this.wanted = null; // a link that came before the corpus did
    this.rows = el("div", { class: "rows" });
    this.list = el(
      "div",
      { class: "list", tabindex: 0, "aria-label": titled(noun), onscroll: () => this.#drawList() },
      this.rows,
    );
    new ResizeObserver(() => this.#drawList()).observe(this.list);
    const side = el("aside", { class: "side" }, this.filters.element, this.list, this.#keysTold());
    this.sheet = el(
      "section",
      { class: "sheet full hidden", id: `sheet-${id}` },
      el("div", { class: "explorer" }, side, this.stage.element),
    );
  }

  #keysTold() {
    const told = [
      [["j", "k"], this.noun],
      [["↑", "↓"], "turn"],
      [["n"], "next mistake"],
      [["/"], "search"],
    ];
    const keys = told.map(([keys, what]) => [keys.map((key) => [el("kbd", {}, key), " "]), what, "\u2003"]);
    return el("p", { class: "keys" }, keys);
  }

  async start() {
    if (this.corpus) return;
    this.stage.say(`Opening the ${plural(this.noun)} …`);
    const corpus = await this.load();
    if (this.corpus) return;
    this.corpus = corpus;
    this.filters.fill(corpus);
    this.filter();
  }

  find() {
    this.found = this.corpus.items.filter((item) => this.filters.passes(item));
    this.filters.told(this.found.length);
  }

  filter() {
    this.find();
    this.list.scrollTop = 0;
    if (this.wanted) {
      this.show(...this.wanted);
      return;
    }
    if (!this.found.includes(this.current)) this.current = this.found[0] || null;
    this.stage.at = "";
    this.#drawList();
    if (this.current) this.#drawStage();
    else this.stage.say(`No ${this.noun} passes these filters.`);
  }

  #drawStage() {
    const place = [this.found.indexOf(this.current), this.found.length];
    this.stage.draw(this.corpus, this.current, this.filters.view, this.filters.query, place);
  }

  // -- the list: only the rows that can be seen ----------------------------------------------------------------------
  #drawList() {
    const { scrollTop, clientHeight } = this.list;
    this.rows.style.height = `${this.found.length * ROW}px`;
    const first = Math.max(0, Math.floor(scrollTop / ROW) - 4);
    const last = Math.ceil((scrollTop + clientHeight) / ROW) + 4;
    this.rows.replaceChildren(...this.found.slice(first, last).map((item, i) => this.#row(item, first + i)));
  }

  #row(item, place) {
    const { name, told, verdicts } = this.rowParts(item);
    return el(
      "a",
      {
        class: "row",
        href: this.link(item, ""),
        "aria-current": item === this.current ? "true" : null,
        css: { top: `${place * ROW}px` },
      },
      el("span", { class: "id" }, el("span", {}, name), el("small", {}, told)),
      el(
        "span",
        { class: "strip", "aria-hidden": "true" },
        verdicts.map((one) => el("i", { class: one })),
      ),
    );
  }

  #reveal(item) {
    const top = this.found.indexOf(item) * ROW;
    const { scrollTop, clientHeight } = this.list;
    const seen = top >= scrollTop && top + ROW <= scrollTop + clientHeight;
    if (top >= 0 && !seen) this.list.scrollTop = Math.max(0, top - clientHeight / 2);
    this.#drawList();
  }

  // One of the corpus at a place in it; one that the filters hide is shown all the same.
  lookAt(item, place) {
    const changed = this.stage.drawn !== this.stage.key(item, this.filters.view, this.filters.query);
    this.current = item;
    if (changed) this.#drawStage();
    this.#reveal(item);
    this.stage.mark(place, true);
    const narrow = matchMedia("(max-width: 46rem)").matches; // there the list stands above
    if (changed && place === "" && narrow) this.stage.element.scrollIntoView();
  }

  // -- keys ----------------------------------------------------------------------------------------------------------
  step(by) {
    const place = this.found.indexOf(this.current);
    const next = this.found[place < 0 ? 0 : place + by];
    if (next) location.hash = this.link(next, "");
  }

  #turn(by, mistakes) {
    const all = this.stage.rows();
    const here = all.findIndex((row) => row.dataset.turn === this.stage.at);
    const ahead = by > 0 ? all.slice(here + 1) : all.slice(0, Math.max(0, here)).reverse();
    const row = ahead.find((one) => !mistakes || one.querySelector(this.mistakes));
    if (!row) return;
    history.replaceState(null, "", this.link(this.current, row.dataset.turn));
    this.stage.mark(row.dataset.turn, true);
  }

  key(event) {
    const typing = event.target.closest("input, select, textarea");
    if (!this.corpus || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const acts = {
      j: () => this.step(1),
      k: () => this.step(-1),
      ArrowDown: () => this.#turn(1),
      ArrowRight: () => this.#turn(1),
      ArrowUp: () => this.#turn(-1),
      ArrowLeft: () => this.#turn(-1),
      n: () => this.#turn(1, true),
      p: () => this.#turn(-1, true),
      "/": () => this.filters.search.select(),
    };
    if (!Object.hasOwn(acts, event.key)) return;
    event.preventDefault();
    acts[event.key]();
  }
}

class DialogueExplorer extends Explorer {
  constructor() {
    super({
      id: "explorer",
      noun: "dialogue",
      load: loadDialogues,
      filters: new Filters(() => this.filter()),
      stage: new Stage(
        (item, turn) => this.link(item, turn),
        (by) => this.step(by),
      ),
      mistakes: ".fault:not(.old), .act.no",
    });
  }

  link(item, turn) {
    const system = this.filters.view ? this.corpus.systems[this.filters.view] : "";
    return turnLink(item.id, turn, this.corpus.sets[item.set], system);
  }

  rowParts(item) {
    const { verdicts } = item.tracks.get(this.filters.view);
    const set = this.corpus.sets[item.set];
    const right = verdicts.filter((one) => one === "right").length;
    const name = [item.id, set ? el("small", {}, ` ${set}`) : null];
    return { name, told: `${right}/${verdicts.length} right`, verdicts };
  }

  // A turn by its link.
  show(dialogue, turn, set, system) {
    if (!this.corpus) {
      this.wanted = [dialogue, turn, set, system];
      this.start();
      return;
    }
    this.wanted = null;
    const key = `${this.corpus.sets.indexOf(set)}/${dialogue}`;
    const item = this.corpus.byKey.get(key) || this.corpus.items.find((one) => one.id === dialogue);
    if (!item) {
      this.stage.say(`No dialogue here is called ${dialogue}.`);
      return;
    }
    this.#look(item, system);
    this.lookAt(item, turn.startsWith("s") ? this.#systemRow(item, Number(turn.slice(1))) : turn);
  }

  // From the system's point of view that a link names, or from one that has this dialogue.
  #look(item, system) {
    const asked = system ? this.corpus.systems.indexOf(system) : this.filters.view;
    const seen = item.tracks.has(asked) ? asked : item.tracks.keys().next().value;
    if (seen === this.filters.view) return;
    this.filters.system.value = String(seen);
    this.find();
  }

  // A system turn stands in the row of the user turn that follows it, or in its own where user turns have no numbers.
  #systemRow(item, index) {
    const said = this.corpus.dialogues[item.place][3];
    if (!item.numbers.length) return `s${index}`;
    const after = said.find((one) => one[2] >= 0 && one[3] > index);
    return after ? String(after[2]) : `s${said.at(-1)[3]}`;
  }
}
