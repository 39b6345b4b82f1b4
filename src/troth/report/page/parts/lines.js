// Curves: metrics over λ, over turns, over wordings, over checkpoints.
const MANY = 4; // curves, beyond which their intervals would hide them

function drawLines(chart, frame, width) {
  const at = columns(chart);
  const groups = series(chart);
  const height = Math.min(340, Math.max(230, width * 0.52));
  const box = { left: 50, right: width - 14, top: 14, bottom: height - 46 };
  const y = chart.diagonal ? { marks: ticks(0, 1, 5), domain: [0, 1] } : extent(chart, at, at.y, 5, chart.percent);
  const up = scale(y.domain, [box.bottom, box.top]);
  const x = lineAxis(chart, at, box);
  const root = canvas(chart, width, height);
  const left = y.marks.map((value) => ({ place: up(value), label: tickLabel(value, chart.percent) }));
  axes(root, chart, box, left, x.marks);
  if (chart.diagonal) {
    root.append(segment(x.along(0), up(0), x.along(1), up(1), { class: "axis", "stroke-dasharray": "4 4" }));
  }
  for (const rule of chart.rules || []) {
    const mine = groups.find((group) => group.name === rule.series);
    const dashes = { "stroke-width": 1.5, "stroke-dasharray": "5 4" };
    const stroke = colour(mine.colour);
    root.append(segment(box.left, up(rule.value), box.right, up(rule.value), { css: { stroke }, ...dashes }));
    root.append(words(box.left + 4, up(rule.value) - 5, "start", rule.label)); // on the left, where curves are lowest
  }
  const few = groups.length <= MANY;
  for (const group of groups) drawLine(chart, frame, root, at, { ...group, few }, x.along, up);
  return root;
}

// Numbers on a scale, anything else side by side.
function lineAxis(chart, at, box) {
  const names = [...new Set(chart.rows.map((row) => row[at.x]))];
  if (names.some((name) => typeof name !== "number")) {
    const step = (box.right - box.left - 40) / Math.max(1, names.length - 1);
    const along = (name) => box.left + 20 + step * names.indexOf(name);
    const letters = Math.max(...names.map((name) => String(name).length)) * LETTER + 8;
    const every = Math.max(1, Math.ceil(letters / Math.max(1, step))); // labels that would overprint are left out
    const shown = names.filter((_, i) => i % every === 0);
    return { along, marks: shown.map((name) => ({ place: along(name), label: String(name) })) };
  }
  const numbers = [...names, ...(chart.diagonal ? [0, 1] : [])];
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  const along = scale([low, high], [box.left + 8, box.right - 8]);
  const whole = numbers.every(Number.isInteger);
  const room = Math.max(2, Math.floor((box.right - box.left) / 52));
  const listed = whole && numbers.length <= room ? numbers : ticks(low, high, room - 1);
  const inside = listed.filter((value) => value >= low - 1e-9 && value <= high + 1e-9);
  const shown = inside.filter((value) => !whole || Number.isInteger(value));
  return { along, marks: shown.map((value) => ({ place: along(value), label: value.toLocaleString("en") })) };
}

// Intervals are a band where points are many, else a bar at each; of many curves there are none. A row whose `point`
// is false only bends the line.
function drawLine(chart, frame, parent, at, group, along, up) {
  const root = svg("g", { class: "series", "data-series": group.name });
  parent.append(root);
  const rows = group.rows.filter((row) => typeof row[at.y] === "number");
  const bounded = (row) => group.few && at.low >= 0 && typeof row[at.low] === "number";
  const band = at.point < 0 && rows.length > 4 && rows.every(bounded);
  const places = (field) => rows.map((row) => `${along(row[at.x])} ${up(row[field])}`);
  const stroke = { css: { stroke: colour(group.colour) } };
  if (band) {
    const edge = [...places(at.high), ...places(at.low).reverse()];
    root.append(svg("path", { d: `M${edge.join("L")}Z`, css: { fill: colour(group.colour) }, opacity: 0.14 }));
  }
  const line = { d: `M${places(at.y).join("L")}`, fill: "none", "stroke-width": 2, "stroke-linejoin": "round" };
  root.append(svg("path", { ...line, "stroke-dasharray": dash(group.colour), ...stroke }));
  for (const row of rows) {
    if (at.point >= 0 && !row[at.point]) continue;
    const [x, y] = [along(row[at.x]), up(row[at.y])];
    if (!band && bounded(row)) {
      root.append(segment(x, up(row[at.low]), x, up(row[at.high]), { "stroke-width": 1.5, opacity: 0.6, ...stroke }));
    }
    root.append(marker(group.colour, x, y, 3.6), patch(frame, chart, row, x, y));
  }
}
