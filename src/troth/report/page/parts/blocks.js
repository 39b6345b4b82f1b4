// Everything but the explorer: cards, tables, examples, sections.
function card(one, systems) {
  const several = one.entries.length > 1;
  return el(
    "article",
    { class: several ? "card several" : "card half", "data-question": one.section },
    el(
      "h2",
      { class: "question", css: { margin: "0", padding: "0", border: "0" } },
      el("a", { href: `#${one.section}` }, one.question),
    ),
    el("p", { class: "metric" }, one.metric + (one.about ? `: ${one.about}` : "")),
    el(
      "div",
      { class: "entries" },
      one.entries.map((entry) => cardEntry(entry, one, several, systems.indexOf(entry.system))),
    ),
  );
}

function cardEntry(entry, one, several, place) {
  const isPercent = one.percent !== false;
  const figure = (value) => (isPercent ? percent(value) : value.toFixed(2));
  const at = (value) => `${Math.min(100, Math.max(0, value * 100))}%`;
  const mark = entry.mark
    ? el(
        "span",
        { class: entry.better ? "mark better" : "mark worse" },
        el("b", { "aria-hidden": "true" }, entry.better ? "▲" : "▼"),
        entry.mark,
      )
    : null;
  const bounded = entry.low !== null && entry.high !== null;
  return el(
    "div",
    { class: "entry" },
    el(
      "div",
      { class: "entry-head" },
      several
        ? el(
            "p",
            { class: "who" },
            el("span", { class: "dot", css: { background: colour(place) } }),
            entry.system,
            mark,
          )
        : null,
      el("span", { class: "big" }, figure(entry.value), isPercent ? el("small", {}, "%") : null),
      bounded ? el("span", { class: "between" }, `95% interval ${figure(entry.low)} – ${figure(entry.high)}`) : null,
    ),
    isPercent
      ? el(
          "div",
          { class: "scale", "aria-hidden": "true" },
          bounded
            ? el("i", { css: { left: at(entry.low), width: at(entry.high - entry.low), background: colour(place) } })
            : null,
          el("b", { css: { left: at(entry.value), background: colour(place) } }),
        )
      : null,
    el("p", { class: "sentence" }, entry.sentence),
    entry.facts && entry.facts.length
      ? el(
          "ul",
          { class: "facts" },
          entry.facts.map((fact) => el("li", {}, fact)),
        )
      : null,
    el(
      "details",
      { class: "recipe" },
      el("summary", {}, `Recipe, over ${entry.n.toLocaleString("en")} units`),
      el("code", {}, entry.signature),
    ),
  );
}

// A table's data: words as they stand, and each figure as a value with its interval, unrounded.
function figuresOf(grid) {
  const labels = grid.labels ?? 1;
  const fields = grid.columns.slice(labels).flatMap((name) => [name, `${name} low`, `${name} high`]);
  const rows = grid.rows.map((row, r) => [...row.slice(0, labels), ...grid.figures[r]]);
  return [[...grid.columns.slice(0, labels), ...fields], rows];
}

function gridPanel(grid) {
  const labels = grid.labels ?? 1;
  const marks = new Map((grid.marks || []).map(([row, column, better]) => [`${row}/${column}`, better]));
  const cell = (text, row, column) => {
    if (column < labels)
      return el("td", { class: "word" }, text, grid.notes && grid.notes[row] ? el("small", {}, grid.notes[row]) : null);
    const [value, half] = text.split(" ±");
    const better = marks.get(`${row}/${column}`);
    return el(
      "td",
      {},
      value,
      half === undefined ? null : el("span", { class: "half-width" }, `±${half}`),
      better === undefined
        ? marks.size
          ? el("span", { class: "mark-room" })
          : null
        : el(
            "span",
            { class: better ? "mark-room up" : "mark-room down" },
            better ? "▲" : "▼",
            el("span", { class: "visually-hidden" }, better ? "better" : "worse"),
          ),
    );
  };
  return el(
    "figure",
    { class: "panel", "data-table": grid.id },
    el("div", { class: "panel-head" }, el("h3", {}, grid.title), csvButton(grid.id, ...figuresOf(grid))),
    el(
      "div",
      { class: "scroll" },
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            grid.columns.map((name, i) => el("th", { class: i < labels ? "word" : null, scope: "col" }, name)),
          ),
        ),
        el(
          "tbody",
          {},
          grid.rows.map((row, r) =>
            el(
              "tr",
              {},
              row.map((text, c) => cell(text, r, c)),
            ),
          ),
        ),
      ),
    ),
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

function exampleItem(item) {
  const link =
    item.dialogue && hasDialogues()
      ? el("a", { href: turnLink(item.dialogue, item.turn || "", item.set || "", item.system || "") }, item.place)
      : el("span", {}, item.place);
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
  chart: chartPanel,
  grid: gridPanel,
  examples: examplesPanel,
};

function sectionSheet(section) {
  return el(
    "section",
    { class: "sheet hidden", id: `sheet-${section.id}` },
    el("h1", {}, section.title),
    el("div", { class: "lead" }, el("p", {}, section.lead)),
    el("div", { class: "blocks" }, paired(section.blocks.map((block) => BLOCKS[block.block](block)))),
  );
}

// With a single question there is room for what its section shows first.
const glimpse = (page) =>
  page.sections
    .flatMap((section) => section.blocks)
    .filter((block) => block.block === "chart")
    .slice(0, 2)
    .map(chartPanel);

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
    el("div", { class: "cards" }, paired(page.cards.map((one) => card(one, page.systems)))),
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
