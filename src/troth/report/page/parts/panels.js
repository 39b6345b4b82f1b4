// A chart with its frame: title, legend, note, and its data as CSV.
const PAPER = { half: 330, whole: 690 }; // of A4 between its margins
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
  const draw = (width) => {
    if (!width || width === last) return;
    last = width;
    frame.replaceChildren(DRAW[chart.kind](chart, frame, width));
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
    legend(chart),
    frame,
    chart.note ? el("figcaption", { class: "note" }, chart.note) : null,
  );
}

const csvButton = (id, fields, rows) =>
  el("button", { class: "csv", type: "button", onclick: () => download(`${id}.csv`, csv(fields, rows)) }, "CSV");
