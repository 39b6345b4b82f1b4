// Columns and points.
function drawColumns(chart, frame, width) {
  const at = columns(chart);
  const groups = series(chart);
  const height = Math.min(320, Math.max(220, width * 0.5));
  const box = { left: 50, right: width - 10, top: 12, bottom: height - 46 };
  const names = [...new Set((chart.whole || chart).rows.map((row) => row[at.x]))];
  const y = extent({ ...(chart.whole || chart), zero: true }, at, at.y, 5, false);
  const up = scale(y.domain, [box.bottom, box.top]);
  const slot = (box.right - box.left) / Math.max(1, names.length);
  const thin = Math.max(2, Math.min(40, (slot * 0.82) / groups.length));
  const every = Math.max(1, Math.ceil((names.length * 40) / (box.right - box.left)));
  const place = (name) => box.left + slot * (names.indexOf(name) + 0.5);
  const root = canvas(chart, width, height);
  const left = y.marks.map((value) => ({ place: up(value), label: tickLabel(value, chart.percent) }));
  const labelled = names.filter((_, i) => i % every === 0);
  const bottom = labelled.map((name) => ({ place: place(name), label: String(name) }));
  axes(root, chart, box, left, bottom);
  groups.forEach((group, i) => {
    for (const row of group.rows) {
      const x = place(row[at.x]) + (i - groups.length / 2) * thin;
      const top = up(row[at.y]);
      const size = { x, y: top, width: Math.max(1, thin - 1), height: Math.max(0, box.bottom - top) };
      root.append(svg("rect", { ...size, css: { fill: colour(group.colour) }, ...tooltip(frame, facts(chart, row)) }));
    }
  });
  return root;
}

function drawScatter(chart, frame, width) {
  const at = columns(chart);
  const groups = series(chart);
  const height = Math.min(400, Math.max(260, width * 0.62));
  const box = { left: 54, right: width - 16, top: 14, bottom: height - 46 };
  const bare = { low: -1, high: -1 };
  const x = extent({ ...chart, rules: [] }, bare, at.x, 5, chart.percent);
  const y = extent({ ...chart, rules: [], zero: true }, bare, at.y, 5, false); // a sensitivity may exceed 100 %
  const along = scale(x.domain, [box.left + 8, box.right - 8]);
  const up = scale(y.domain, [box.bottom, box.top]);
  const root = canvas(chart, width, height);
  const title = chart.x_title + (chart.percent ? ", %" : "");
  const upPercent = chart.percent && chart.plain !== chart.y;
  const left = y.marks.map((value) => ({ place: up(value), label: tickLabel(value, upPercent) }));
  const bottom = x.marks.map((value) => ({ place: along(value), label: tickLabel(value, chart.percent) }));
  axes(root, { ...chart, percent: upPercent, x_title: title }, box, left, bottom);
  const taken = chart.rows.map((row) => [along(row[at.x]) - 5, up(row[at.y]) - 5, 10, 10]);
  for (const group of groups) {
    for (const row of group.rows) {
      const [px, py] = [along(row[at.x]), up(row[at.y])];
      root.append(marker(group.colour, px, py, 4.6));
      const spot = free(px, py, String(row[at.label]), taken, { left: box.left, right: width });
      if (spot) root.append(words(spot[0], spot[1] + 10, "start", String(row[at.label])));
      root.append(patch(frame, chart, row, px, py));
    }
  }
  return root;
}

// A place beside a point where its name covers nothing; none if there is none, and then the name is in the tooltip.
function free(x, y, text, taken, edges) {
  const [long, high] = [text.length * 6.4, 12];
  const apart = (a, b) => a[0] >= b[0] + b[2] || b[0] >= a[0] + a[2] || a[1] >= b[1] + b[3] || b[1] >= a[1] + a[3];
  const spots = [
    [x + 8, y - 6],
    [x - 8 - long, y - 6],
    [x - long / 2, y - 20],
    [x - long / 2, y + 8],
  ].map(([left, top]) => [left, top, long, high]);
  const inside = (spot) => spot[0] > edges.left && spot[0] + long < edges.right && spot[1] > 0;
  const found = spots.find((spot) => inside(spot) && taken.every((other) => apart(spot, other)));
  if (found) taken.push(found);
  return found;
}
