// A chart with its frame: title, legend, note, and its data as CSV.
const PAPER = { half: 330, whole: 690 }; // of A4 between its margins
const SMALL = 250; // pixels that a small chart takes at least,
const NAMED = 330; // and one of many rows, whose names stand beside them
const GAP = 18;
const DRAW = { lines: drawLines, dots: drawDots, bars: drawBars, columns: drawColumns, scatter: drawScatter };

function legend(chart, frame) {
  const groups = series(chart);
  // A small chart whose rows are the systems themselves needs none.
  if (groups.length < 2 || chart.series === chart.y) return null;
  const bar = (group) => svg("rect", { x: 1, y: 2, width: 12, height: 10, css: { fill: colour(group.colour) } });
  const mark = (group) =>
    chart.kind === "bars" || chart.kind === "columns"
      ? swatchBox(bar(group))
      : swatch(group.colour);
  // Pointing at a name brings its curve to the fore.
  const raise = (name) => {
    for (const one of frame.querySelectorAll(".series"))
      one.classList.toggle("back", name !== null && one.dataset.series !== name);
  };
  return el(
    "div",
    { class: "legend" },
    groups.map((group) =>
      el(
        "span",
        { onpointerenter: () => raise(group.name), onpointerleave: () => raise(null) },
        mark(group),
        group.name,
      ),
    ),
  );
}

// The chart itself, or a small one for each value of the field that splits it; they share their scales.
function drawing(chart, frame, width) {
  if (!chart.panel) return [DRAW[chart.kind](chart, frame, width)];
  const at = chart.fields.indexOf(chart.panel);
  const names = [...new Set(chart.rows.map((row) => row[at]))];
  const rowNames = new Set(chart.rows.map((row) => row[chart.fields.indexOf(chart.y)]));
  const least = isTall(chart, rowNames.size) ? NAMED : SMALL;
  const columns = Math.max(1, Math.min(names.length, Math.floor(width / least)));
  const each = Math.floor((width - (columns - 1) * GAP) / columns);
  const parts = names.map((name) => {
    const rows = chart.rows.filter((row) => row[at] === name);
    const small = { ...chart, title: `${chart.title}, ${name}`, rows, whole: chart };
    const holder = el("div", { class: "small", css: { width: `${each}px` } });
    const place = chart.panel === "system" ? page.systems.indexOf(name) : -1;
    holder.append(el("h4", {}, place < 0 ? null : swatch(place), String(name)), DRAW[chart.kind](small, holder, each));
    return holder;
  });
  return [el("div", { class: "smalls", css: { gap: `${GAP}px` } }, parts)];
}

function chartPanel(chart) {
  const frame = el("div", { class: "plot" });
  let last = 0;
  const draw = (width) => {
    if (!width || width === last) return;
    last = width;
    frame.replaceChildren(...drawing(chart, frame, width));
  };
  let paper = false;
  const fit = () => paper || draw(Math.round(frame.clientWidth));
  new ResizeObserver(fit).observe(frame);
  // Paper has its own width, and sheets that were never open have none yet.
  addEventListener("beforeprint", () => {
    paper = true;
    draw(frame.closest(".half") ? PAPER.half : PAPER.whole);
  });
  addEventListener("afterprint", () => {
    paper = false;
    fit();
  });
  return el(
    "figure",
    { class: chart.wide ? "panel" : "panel half", "data-chart": chart.id, "data-kind": chart.kind },
    el("div", { class: "panel-head" }, el("h3", {}, chart.title), csvButton(chart.id, chart.fields, chart.rows)),
    legend(chart, frame),
    frame,
    chart.note ? el("figcaption", { class: "note" }, chart.note) : null,
  );
}

const csvButton = (id, fields, rows) =>
  el("button", { class: "csv", type: "button", onclick: () => download(`${id}.csv`, csv(fields, rows)) }, "CSV");
