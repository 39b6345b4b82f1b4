// Charts: rows to SVG, drawn anew whenever their width changes. No library: five kinds of marks over two kinds of axes.
// A series is told apart by colour, shape, filling and dash: the first eight by colour alone, and so on.
const COLOURS = 8;
const SHAPES = ["circle", "square", "triangle", "diamond"];
const DASHES = [null, "7 3", "2 3", "9 3 2 3"];

const dash = (place) => DASHES[Math.floor(place / COLOURS) % DASHES.length];

function marker(place, x, y, size, attributes) {
  const round = Math.floor(place / COLOURS);
  const shape = SHAPES[(place + round) % SHAPES.length];
  const ink = { fill: round % 2 ? "var(--panel)" : colour(place), stroke: colour(place) };
  const look = { css: ink, "stroke-width": round % 2 ? 1.8 : 0, ...attributes };
  if (shape === "circle") return svg("circle", { cx: x, cy: y, r: size, ...look });
  const corners = {
    square: [-0.88, -0.88, 0.88, -0.88, 0.88, 0.88, -0.88, 0.88],
    triangle: [0, -1.15, 1.1, 0.85, -1.1, 0.85],
    diamond: [0, -1.25, 1.25, 0, 0, 1.25, -1.25, 0],
  }[shape];
  const points = corners.map((one, i) => (i % 2 ? y : x) + one * size);
  return svg("polygon", { points: points.join(" "), ...look });
}

// The mark of a system beside its name.
const swatch = (place) => swatchBox(marker(place, 7, 7, 4.4));
const swatchBox = (mark) => svg("svg", { viewBox: "0 0 14 14", class: "swatch", "aria-hidden": "true" }, mark);

// A step of 1, 2 or 5 times a power of ten, and the ticks that it makes.
function ticks(low, high, count) {
  const span = high - low || Math.abs(high) || 1;
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999) || 10);
  const first = Math.floor(low / step + 1e-9),
    last = Math.ceil(high / step - 1e-9);
  return Array.from({ length: last - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

function scale(domain, range) {
  const [a, b] = domain,
    [c, d] = range;
  return (value) => c + ((value - a) / (b - a || 1)) * (d - c);
}

function series(chart) {
  const at = chart.fields.indexOf(chart.series);
  const present = new Set(chart.rows.map((row) => row[at]));
  const names = [...Object.keys(chart.colours || {}).filter((name) => present.delete(name)), ...present];
  // A system has one mark on the whole page; other series have theirs by meaning, or by place.
  const own = chart.series === "system" ? Object.fromEntries(page.systems.map((name, i) => [name, i])) : {};
  const meant = { ...own, ...chart.colours };
  return names.map((name, i) => ({
    name: String(name),
    key: name,
    colour: meant[name] ?? i,
    rows: chart.rows.filter((row) => row[at] === name),
  }));
}

function columns(chart) {
  const at = (name) => (name ? chart.fields.indexOf(name) : -1);
  return {
    x: at(chart.x),
    y: at(chart.y),
    low: at(chart.low),
    high: at(chart.high),
    label: at(chart.label),
    point: at("point"),
  };
}

const tickLabel = (value, isPercent) =>
  isPercent ? String(Number((value * 100).toFixed(6))) : value.toLocaleString("en");

// The values' range over rows and intervals, widened to whole ticks. Small charts of one share theirs.
function extent(chart, at, value, count, within) {
  if (chart.whole) return extent(chart.whole, at, value, count, within);
  const found = [];
  for (const row of chart.rows)
    for (const place of [value, at.low, at.high])
      if (place >= 0 && typeof row[place] === "number") found.push(row[place]);
  for (const rule of chart.rules || []) found.push(rule.value);
  let low = Math.min(...found),
    high = Math.max(...found);
  if (!found.length) [low, high] = [0, 1];
  if (chart.zero) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) [low, high] = within ? [Math.max(0, low - 0.05), Math.min(1, high + 0.05)] : [low - 1, high + 1];
  let marks = ticks(low, high, count);
  if (within) marks = marks.filter((tick) => tick > -1e-9 && tick < 1 + 1e-9);
  return { marks, domain: [Math.min(marks[0], low), Math.max(marks[marks.length - 1], high)] };
}

function tooltip(frame, text) {
  let tip = null;
  return {
    onpointerenter: (event) => {
      const box = frame.getBoundingClientRect(),
        target = event.currentTarget.getBoundingClientRect();
      tip = el("div", { class: "tip", role: "presentation" }, text);
      frame.append(tip);
      const middle = target.left + target.width / 2 - box.left,
        half = tip.offsetWidth / 2;
      tip.style.left = `${Math.min(Math.max(middle, half), box.width - half)}px`;
      tip.style.top = `${target.top - box.top}px`;
    },
    onpointerleave: () => tip && tip.remove(),
  };
}

function facts(chart, row) {
  return chart.fields
    .map((field, i) => [field, row[i]])
    .filter(([field, value]) => field !== "point" && field !== "signature" && value !== null)
    .map(([field, value]) => {
      const fraction =
        chart.percent &&
        typeof value === "number" &&
        ![chart.kind === "lines" ? chart.x : "", "n", chart.plain].includes(field);
      return `${field}: ${shown(value, fraction)}`;
    })
    .join("\n");
}

// A transparent patch over a mark, large enough for a finger.
const patch = (frame, chart, row, x, y, size = 10) =>
  svg("circle", { cx: x, cy: y, r: size, fill: "transparent", ...tooltip(frame, facts(chart, row)) });

const segment = (x1, y1, x2, y2, attributes) => svg("line", { x1, y1, x2, y2, ...attributes });

const canvas = (chart, width, height) =>
  svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.title });

// Words in a chart; `anchor` is where their place is: start, middle or end.
const words = (x, y, anchor, text, kind) => svg("text", { x, y, "text-anchor": anchor, class: kind }, text);

function axes(root, chart, box, left, bottom) {
  for (const { place, label } of left) {
    root.append(segment(box.left, place, box.right, place, { class: "grid" }));
    root.append(words(box.left - 8, place + 4, "end", label));
  }
  for (const { place, label } of bottom) root.append(words(place, box.bottom + 18, "middle", label));
  root.append(words((box.left + box.right) / 2, box.bottom + 38, "middle", chart.x_title || chart.x));
  const middle = (box.top + box.bottom) / 2;
  const title = words(12, middle, "middle", (chart.y_title || chart.y) + (chart.percent ? ", %" : ""));
  title.setAttribute("transform", `rotate(-90 12 ${middle})`);
  root.append(title);
}
