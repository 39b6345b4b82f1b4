// A chart with its frame: title, legend, note, and its data as CSV.
const PAPER = 400;
const DRAW = { lines: drawLines, dots: drawDots, bars: drawBars, columns: drawColumns, scatter: drawScatter };

function legend(chart) {
  const groups = series(chart);
  if (groups.length < 2) return null;
  const swatch = (group) =>
    chart.kind === "bars" || chart.kind === "columns"
      ? svg("rect", { x: 1, y: 2, width: 12, height: 10, css: { fill: colour(group.colour) } })
      : marker(group.colour, 7, 7, 4.6);
  return el(
    "div",
    { class: "legend" },
    groups.map((group) =>
      el("span", {}, svg("svg", { viewBox: "0 0 14 14", "aria-hidden": "true" }, swatch(group)), group.name),
    ),
  );
}

function chartPanel(chart) {
  const frame = el("div", { class: "plot" });
  let last = 0;
  const draw = (room) => {
    const width = Math.round(frame.clientWidth) || room;
    if (!width || width === last) return;
    last = width;
    frame.replaceChildren(DRAW[chart.kind](chart, frame, width));
  };
  new ResizeObserver(() => draw(0)).observe(frame);
  addEventListener("beforeprint", () => draw(PAPER)); // sheets that were never open have no width yet
  return el(
    "figure",
    { class: chart.wide ? "panel" : "panel half", "data-chart": chart.id },
    el("div", { class: "panel-head" }, el("h3", {}, chart.title), csvButton(chart.id, chart.fields, chart.rows)),
    legend(chart),
    frame,
    chart.note ? el("figcaption", { class: "note" }, chart.note) : null,
  );
}

const csvButton = (id, fields, rows) =>
  el("button", { class: "csv", type: "button", onclick: () => download(`${id}.csv`, csv(fields, rows)) }, "CSV");
