// Everything but the explorer: cards, tables, examples, sections.
function card(one) {
  const many = one.entries.length > MANY;
  const ends = many ? tightly(one.entries) : [0, 1];
  const label = (end) => (one.percent === false ? end.toFixed(2) : `${percent(end, 0)}%`);
  const labels = ends.map((end) => el("span", {}, label(end)));
  const axis = el("div", { class: "entry axis", "aria-hidden": "true" }, el("div", { class: "ends" }, labels));
  return el(
    "article",
    { class: one.entries.length > 1 ? "card several" : "card half", "data-question": one.section },
    el("h2", { class: "question" }, el("a", { href: `#${one.section}` }, one.question)),
    el("p", { class: "metric" }, one.metric + (one.about ? `: ${one.about}` : "")),
    el(
      "div",
      { class: many ? "entries lines" : "entries" },
      many ? axis : null,
      one.entries.map((entry) => cardEntry(entry, one, ends)),
    ),
  );
}

// Many systems lie close together: their line is as long as their intervals reach.
function tightly(entries) {
  const found = entries.flatMap((entry) => [entry.value, entry.low, entry.high]).filter((value) => value !== null);
  const marks = ticks(Math.min(...found), Math.max(...found), 4);
  return [marks[0], marks.at(-1)];
}

// With few systems a column each; of many, a line each, and what there is to say on a click.
function cardEntry(entry, one, ends) {
  const many = one.entries.length > MANY;
  const isPercent = one.percent !== false;
  const contest = page.sections.find((section) => section.id === one.section)?.contests?.[one.contest];
  const place = page.systems.indexOf(entry.system);
  const figure = (value) => (isPercent ? percent(value) : value.toFixed(2));
  const at = (value) => `${Math.min(100, Math.max(0, scale(ends, [0, 100])(value)))}%`;
  const long = `${((entry.high - entry.low) / (ends[1] - ends[0])) * 100}%`;
  const bounded = entry.low !== null && entry.high !== null;
  const mark = el("span", { class: "mark-slot" });
  if (several(contest)) followBase(() => mark.replaceChildren(...[markOf(contest, one, entry)].filter(Boolean)));
  const who = one.entries.length > 1 ? el("p", { class: "who" }, swatch(place), entry.system) : null;
  const big = el("span", { class: "big" }, figure(entry.value), isPercent ? el("small", {}, "%") : null);
  const between = bounded ? el("span", { class: "between" }, `${figure(entry.low)} … ${figure(entry.high)}`) : null;
  const line = isPercent || many
    ? el(
        "div",
        { class: "scale", "aria-hidden": "true" },
        bounded
          ? el("i", { css: { left: at(entry.low), width: long, background: colour(place) } })
          : null,
        el("b", { css: { left: at(entry.value), background: colour(place) } }),
      )
    : null;
  const said = [
    el("p", { class: "sentence" }, entry.sentence),
    (entry.facts || []).length
      ? el(
          "ul",
          { class: "facts" },
          entry.facts.map((fact) => el("li", {}, fact)),
        )
      : null,
  ];
  const recipe = [
    el("summary", {}, many ? "more" : `How it is computed (n = ${entry.n.toLocaleString("en")})`),
    many ? said : null,
    el("code", {}, entry.signature),
  ];
  const head = many
    ? [who, big, between || el("span"), line, mark]
    : [el("div", { class: "entry-head" }, who, big, between), mark, line];
  return el("div", { class: "entry" }, head, many ? null : said, el("details", { class: "recipe" }, recipe));
}

// A table's data: words as they stand, and each figure as a value with its interval, unrounded.
function figuresOf(grid) {
  const labels = grid.labels ?? 1;
  const fields = grid.columns.slice(labels).flatMap((name) => [name, `${name} low`, `${name} high`]);
  const rows = grid.rows.map((row, r) => [...row.slice(0, labels), ...grid.figures[r]]);
  return [[...grid.columns.slice(0, labels), ...fields], rows];
}

function gridPanel(grid, section) {
  const labels = grid.labels ?? 1;
  const key = (row, column) => `${row}/${column}`;
  const best = new Set((grid.best || []).map(([row, column]) => key(row, column)));
  const few = new Map((grid.few || []).map(([row, column, why]) => [key(row, column), why]));
  const contest = grid.contest === undefined ? null : section.contests[grid.contest];
  const rooms = []; // where marks go: system, metric, element
  const cell = (text, row, column) => {
    if (column < labels) {
      const about = column === 0 && grid.notes && grid.notes[row] ? el("small", {}, grid.notes[row]) : null;
      return el("td", { class: "word" }, el("span", {}, text), about);
    }
    const [value, interval] = text.split(" (");
    const place = grid.places && grid.places[row][column - labels];
    const room = contest ? el("span", { class: "mark-room" }) : null;
    if (room && place) rooms.push([...place, room]);
    const why = few.get(key(row, column));
    const tail = interval === undefined ? "" : interval.replace(")", "");
    return el(
      "td",
      { class: best.has(key(row, column)) ? "best" : null },
      el("span", { class: "figure" }, value, room),
      tail || why ? el("span", { class: "interval", title: why }, tail, why ? "°" : "") : null,
    );
  };
  const head = grid.columns.map((name, i) => {
    const place = i < labels ? -1 : page.systems.indexOf(name);
    return el("th", { class: i < labels ? "word" : null, scope: "col" }, place < 0 ? null : swatch(place), name);
  });
  const body = grid.rows.map((row, r) =>
    el(
      "tr",
      {},
      row.map((text, c) => cell(text, r, c)),
    ),
  );
  const wide = grid.columns.length > MANY + labels;
  const legend = contest ? el("p", { class: "note" }) : null;
  if (contest)
    followBase(() => {
      for (const [system, metric, room] of rooms) {
        const [sign, meaning, kind] = LETTERS[letterOf(contest, system, metric)] || ["", "", ""];
        room.className = `mark-room ${kind.replace("mark ", "")}`;
        room.replaceChildren(...(sign ? [sign, el("span", { class: "visually-hidden" }, meaning)] : []));
      }
      legend.textContent = marksNote(contest);
    });
  return el(
    "figure",
    { class: "panel", "data-table": grid.id },
    el("div", { class: "panel-head" }, el("h3", {}, grid.title), csvButton(grid.id, ...figuresOf(grid))),
    el(
      "div",
      { class: wide ? "scroll wide" : "scroll", tabindex: wide ? 0 : null, role: "group", "aria-label": grid.title },
      el("table", { css: { "--columns": grid.columns.length } }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body)),
    ),
    legend,
    grid.note ? el("figcaption", { class: "note" }, grid.note) : null,
  );
}

function pieces(list) {
  return list.map((piece, i) => {
    const next = list[i + 1];
    if (!piece.mark) return piece.text;
    if (piece.mark === "!") return el("mark", {}, piece.text);
    const apart = /\s$/.test(piece.text) || (next && next.mark); // a full stop stays where it is
    return [el(piece.mark === "-" ? "del" : "ins", {}, piece.text.trim()), apart ? " " : ""];
  });
}

function examplesPanel(block) {
  const page = 8;
  const groups = [...new Set(block.items.map((item) => item.group).filter(Boolean))];
  const list = el("ul", { class: "examples" });
  const more = el("div", { class: "more" });
  let chosen = "",
    upTo = page;
  const draw = () => {
    const items = block.items.filter((item) => !chosen || item.group === chosen);
    list.replaceChildren(...items.slice(0, upTo).map(exampleItem));
    more.replaceChildren();
    if (items.length > upTo)
      more.append(
        el(
          "button",
          {
            class: "button",
            type: "button",
            onclick: () => {
              upTo += 20;
              draw();
            },
          },
          `Show more (${(items.length - upTo).toLocaleString("en")})`,
        ),
      );
  };
  const chips =
    groups.length < 2
      ? null
      : el(
          "div",
          { class: "chips" },
          ["", ...groups].map((name) => {
            const chip = el(
              "button",
              {
                class: "chip",
                type: "button",
                "aria-pressed": String(name === chosen),
                onclick: () => {
                  chosen = name;
                  upTo = page;
                  for (const other of chip.parentNode.children)
                    other.setAttribute("aria-pressed", String(other === chip));
                  draw();
                },
              },
              name || "all",
            );
            return chip;
          }),
        );
  draw();
  const count =
    block.total > block.items.length
      ? `${block.items.length} of ${block.total.toLocaleString("en")}`
      : block.items.length.toLocaleString("en");
  return el(
    "div",
    { class: "panel" },
    el("div", { class: "panel-head" }, el("h3", {}, block.title), el("span", { class: "note" }, count)),
    block.note ? el("p", { class: "note" }, block.note) : null,
    chips,
    list,
    more,
  );
}

function exampleLink(item) {
  const { dialogue, turn = "", set = "", system = "", trial, beside = "" } = item;
  if (trial !== undefined) return hasTrials() ? trialLink(dialogue, trial, turn, system, beside) : null;
  return dialogue && hasDialogues() ? turnLink(dialogue, turn, set, system) : null;
}

function exampleItem(item) {
  const href = exampleLink(item);
  const link = href ? el("a", { href }, item.place) : el("span", {}, item.place);
  return el(
    "li",
    {},
    el("div", { class: "where" }, link, el("span", {}, item.tag)),
    el(
      "div",
      {},
      el("p", { class: "words" }, pieces(item.pieces)),
      (item.facts || []).length
        ? el(
            "p",
            { class: "why" },
            item.facts.map((fact, i) => [i ? " · " : "", fact]),
          )
        : null,
    ),
  );
}

const BLOCKS = {
  text: (block) => el("p", { class: "text" }, block.text),
  heading: (block) => el("h2", {}, block.text),
  chart: (block) => chartPanel(block),
  grid: gridPanel,
  examples: examplesPanel,
};

function sectionSheet(section) {
  return el(
    "section",
    { class: "sheet hidden", id: `sheet-${section.id}` },
    el("h1", {}, section.title),
    el("div", { class: "lead" }, el("p", {}, section.lead)),
    baseChoice(section.contests || []),
    el("div", { class: "blocks" }, paired(section.blocks.map((block) => BLOCKS[block.block](block, section)))),
  );
}

// With a single question there is room for what its section shows first.
const glimpse = (page) =>
  page.sections
    .flatMap((section) => section.blocks)
    .filter((block) => block.block === "chart")
    .slice(0, 2)
    .map((block) => chartPanel(block));

// Charts stand two in a row, like beside like; one that would stand alone takes the row.
function paired(panels) {
  let row = [];
  const kind = (panel) => panel.dataset.kind;
  for (const panel of [...panels, null]) {
    if (panel && panel.classList.contains("half")) row.push(panel);
    else {
      const first = row.length > 2 && kind(row[0]) !== kind(row[1]) && kind(row[1]) === kind(row.at(-1));
      if (row.length % 2) (first ? row[0] : row.at(-1)).classList.remove("half");
      row = [];
    }
  }
  return panels;
}

function summarySheet(page) {
  return el(
    "section",
    { class: "sheet hidden", id: "sheet-summary" },
    el("h1", {}, page.title),
    el(
      "div",
      { class: "lead" },
      page.lead.map((line) => el("p", {}, line)),
    ),
    baseChoice(page.sections.flatMap((section) => section.contests || [])),
    el("div", { class: "cards" }, paired(page.cards.map((one) => card(one)))),
    page.cards.length === 1 ? el("div", { class: "blocks" }, paired(glimpse(page))) : null,
    el(
      "details",
      { class: "runs" },
      el("summary", {}, "How these numbers were made"),
      page.runs.map((run) => {
        const counts = Object.entries(run.counts).map(
          ([name, found]) =>
            `${name}: ${Object.entries(found)
              .filter(([, n]) => n)
              .map(([what, n]) => `${n.toLocaleString("en")} ${what.replaceAll("_", " ")}`)
              .join(", ")}`,
        );
        const rows = [
          ["run", run.name],
          ["command", run.command],
          ...Object.entries(run.arguments),
          ...counts.map((text) => ["scored", text]),
          [
            "versions",
            Object.entries(run.versions)
              .map((pair) => pair.join(" "))
              .join(", "),
          ],
        ];
        return el(
          "dl",
          {},
          rows.map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
        );
      }),
      el(
        "p",
        {},
        `This page was made by troth ${page.version}. It holds everything it shows and asks no network for anything.`,
      ),
    ),
  );
}
