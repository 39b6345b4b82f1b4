// Rows of dots and rows of bars: a category a row, its name on the left, or above it where there is little room.
const LETTER = 7.3; // pixels, about
const ABOVE = 18;

// Whether a small chart would be too long with names above its rows.
const isTall = (chart, rows) => Boolean(chart.panel) && ["dots", "bars"].includes(chart.kind) && rows > 8;

// Names of systems often differ at their end: what is left out is in the middle.
function shortened(text, letters) {
  if (text.length <= letters) return text;
  const end = Math.floor((letters - 1) / 2);
  return `${text.slice(0, letters - 1 - end)}…${text.slice(text.length - end)}`;
}

class Rows {
  constructor(chart, width, perRow, right) {
    this.chart = chart;
    this.perRow = perRow;
    this.at = columns(chart);
    // Small charts of one have the same rows, unless each has rows of its own.
    this.names = [...new Set((chart.whole || chart).rows.map((row) => row[this.at.y]))];
    const longest = Math.max(0, ...this.names.map((name) => String(name).length)) * LETTER + 22;
    this.above = width < 460 && longest > width * 0.3 && !isTall(chart, this.names.length) ? ABOVE : 0;
    const left = this.above ? 4 : Math.min(longest, width * 0.44);
    this.rowHeight = perRow + this.above;
    this.box = { left, right: width - right, top: 8, bottom: 8 + this.names.length * this.rowHeight };
    this.letters = Math.floor((this.above ? width - right : left - 14) / LETTER);
    this.root = canvas(chart, width, this.box.bottom + 44);
  }

  get room() {
    return Math.floor((this.box.right - this.box.left) / 70); // for marks on the axis
  }

  middle(name) {
    return this.box.top + this.names.indexOf(name) * this.rowHeight + this.above + this.perRow / 2;
  }

  finish(marks, along) {
    const { box, chart, root } = this;
    for (const value of marks) {
      const shown = chart.kind === "bars" ? Math.abs(value) : value;
      root.prepend(segment(along(value), box.top, along(value), box.bottom, { class: "grid" }));
      root.append(words(along(value), box.bottom + 17, "middle", tickLabel(shown, chart.percent)));
    }
    const title = (chart.x_title || chart.x) + (chart.percent ? ", %" : "");
    root.append(words((box.left + box.right) / 2, box.bottom + 36, "middle", title));
    for (const name of this.names) root.append(this.#label(String(name), this.middle(name)));
    return root;
  }

  #label(text, middle) {
    const short = shortened(text, this.letters);
    const label = this.above
      ? words(4, middle - this.perRow / 2 - 5, "start", short, "name")
      : words(this.box.left - 12, middle + 4, "end", short, "name");
    label.append(svg("title", {}, text));
    return label;
  }
}

function drawDots(chart, frame, width) {
  const groups = series(chart);
  const single = groups.length === 1;
  const categories = new Set(chart.rows.map((row) => row[chart.fields.indexOf(chart.y)]));
  const spread = chart.join || categories.size === chart.rows.length ? 0 : groups.length > 8 ? 7 : 9;
  const rows = new Rows(chart, width, spread ? Math.max(26, 14 + spread * groups.length) : 26, single ? 46 : 14);
  const { at, box, root } = rows;
  const x = extent(chart, at, at.x, Math.max(3, rows.room), chart.percent);
  const along = scale(x.domain, [box.left + 6, box.right - 6]);
  if (chart.join) joined(rows, along);
  groups.forEach((group, i) => {
    const stroke = { css: { stroke: colour(group.colour) }, "stroke-linecap": "round" };
    const look = chart.join ? { "stroke-width": 4, opacity: 0.25 } : { "stroke-width": 2, opacity: 0.55 };
    for (const row of group.rows.filter((one) => typeof one[at.x] === "number")) {
      const y = rows.middle(row[at.y]) + (i - (groups.length - 1) / 2) * spread;
      if (at.low >= 0 && typeof row[at.low] === "number") {
        root.append(segment(along(row[at.low]), y, along(row[at.high]), y, { ...stroke, ...look }));
      }
      root.append(marker(group.colour, along(row[at.x]), y, 4.2), patch(frame, chart, row, along(row[at.x]), y, 9));
      if (single) {
        root.append(words(width - 4, y + 4, "end", chart.percent ? percent(row[at.x]) : shown(row[at.x]), "value"));
      }
    }
  });
  return rows.finish(x.marks, along);
}

// Before and after: a line between the dots of a row.
function joined(rows, along) {
  const { at, chart, root } = rows;
  for (const name of rows.names) {
    const mine = chart.rows.filter((row) => row[at.y] === name && typeof row[at.x] === "number");
    const places = mine.map((row) => along(row[at.x]));
    if (places.length < 2) continue;
    const look = { css: { stroke: "var(--muted)" }, "stroke-width": 2 };
    root.append(segment(Math.min(...places), rows.middle(name), Math.max(...places), rows.middle(name), look));
  }
}

// The longest bars to either side, over all small charts of one.
function barRange(chart, at, length) {
  const { rows, panel, fields } = chart.whole || chart;
  const sums = new Map();
  for (const row of rows) {
    const key = JSON.stringify([row[at.y], panel ? row[fields.indexOf(panel)] : "", Math.sign(length(row))]);
    sums.set(key, (sums.get(key) || 0) + length(row));
  }
  return [Math.min(0, ...sums.values()), Math.max(0, ...sums.values())];
}

// Stacked to the right, and the series that is named for it to the left.
function drawBars(chart, frame, width) {
  const groups = series(chart);
  const rows = new Rows(chart, width, 26, 46);
  const { at, box, root } = rows;
  const by = chart.fields.indexOf(chart.series);
  const length = (row) => (chart.left && row[by] === chart.left ? -row[at.x] : row[at.x]);
  const [low, high] = barRange(chart, at, length);
  const every = ticks(low, high || (low ? 0 : 1), Math.max(2, rows.room));
  const marks = every.filter((tick) => chart.percent || Number.isInteger(tick));
  const range = [box.left + (low < 0 ? 34 : 0), box.right]; // room for a figure before the first bar
  const along = scale([Math.min(low, marks[0]), Math.max(high, marks.at(-1))], range);
  for (const name of rows.names) {
    const y = rows.middle(name);
    const ends = new Map();
    for (const group of groups) {
      for (const row of group.rows.filter((one) => one[at.y] === name && one[at.x])) {
        const sign = Math.sign(length(row));
        const start = ends.get(sign) || 0;
        ends.set(sign, start + length(row));
        const [x1, x2] = [along(start), along(ends.get(sign))].sort((a, b) => a - b);
        const size = { x: x1, y: y - 8, width: Math.max(1, x2 - x1 - 1), height: 16 };
        root.append(
          svg("rect", { ...size, css: { fill: colour(group.colour) }, ...tooltip(frame, facts(chart, row)) }),
        );
      }
    }
    if (ends.has(1))
      root.append(words(along(ends.get(1)) + 6, y + 4, "start", ends.get(1).toLocaleString("en"), "value"));
    if (ends.has(-1))
      root.append(words(along(ends.get(-1)) - 6, y + 4, "end", (-ends.get(-1)).toLocaleString("en"), "value"));
  }
  root.append(segment(along(0), box.top, along(0), box.bottom, { class: "axis" }));
  return rows.finish(marks, along);
}
