// Draws charts as SVG: axes whose numbers have room, guides with their words above the plot, a legend only where there
// is more than one series. Dots of a series are one path, so a hundred thousand of them are quick.

const PLOT = { left: 62, right: 16, bottom: 44, height: 190 };
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const AXIS = {
  number: (v) => COMPACT.format(v), tokens: (v) => COMPACT.format(v), tps: (v) => COMPACT.format(v),
  us: durationWords, share: (v) => `${Number((100 * v).toPrecision(3))} %`,
};
const NICE_US = STEPS_S.map((s) => s * 1e6);

function charts(given, parent, words) {
  if (!given?.length) return;
  make("h3", words, parent);
  const grid = make("div", null, parent, "charts");
  for (const spec of given) chart(spec, grid);
}

function chart(spec, parent) {
  const node = make("figure", null, parent), caption = make("figcaption", null, node);
  make("b", spec.title, caption);
  if (spec.better) make("span", ` ${spec.better}`, caption, "quiet");
  const legend = make("div", null, node, "tools"), hidden = new Set(), place = make("div", null, node);
  const read = make("p", spec.notes.join("; "), node, "quiet"), rest = read.textContent;
  const draw = () => {
    const width = Math.max(280, Math.floor(place.clientWidth || 560));
    place.replaceChildren(drawChart(spec, width, hidden, (said) => { read.textContent = said ?? rest; }));
  };
  legend.hidden = spec.series.length < 2;
  if (!legend.hidden)
    for (const series of spec.series) {
      const label = check(legend, "", true, (on) => { hidden[on ? "delete" : "add"](series.name); draw(); });
      make("span", null, label, "swatch").style.background = `var(--${series.paint})`;
      label.append(series.name);
    }
  redrawn(node, draw);
}

// Draws at once, so that what stands below has its place, and again when the width has changed.
function redrawn(node, draw) {
  draw();
  let width = node.clientWidth;
  new ResizeObserver(() => {
    if (node.clientWidth === width) return;
    width = node.clientWidth;
    draw();
  }).observe(node);
}

function drawChart(spec, width, hidden, say) {
  const shown = spec.series.filter((series) => !hidden.has(series.name) && series.x.length);
  const box = { left: PLOT.left, right: width - PLOT.right };
  const zero = shown.some((s) => s.shape === "marks") ? [0] : []; // things compared are seen in proportion
  const x = axisOf([...zero, ...shown.flatMap((s) => extent(s.x))], spec.x, box.left, box.right);
  const rows = guideRows(spec.guides, x);
  box.top = 8 + 15 * rows.count;
  box.bottom = box.top + PLOT.height;
  const low = spec.y[2] || shown.some((s) => s.y.some((v) => v < 0)) ? [] : [0];
  const y = axisOf([...low, ...shown.flatMap((s) => extent(s.y))], spec.y, box.bottom, box.top);
  const svg = shape("svg", { width, height: box.bottom + PLOT.bottom, role: "img",
    "aria-label": `${spec.title} ${spec.better} ${spec.notes.join("; ")}` });
  drawAxes(svg, spec, x, y, box);
  if (!shown.length) shape("text", { x: box.left + 8, y: box.top + 20 }, svg).textContent = "No values.";
  for (const series of shown) DRAW[series.shape](svg, series, x, y, box);
  drawGuides(svg, spec.guides, rows, x, box);
  listen(svg, spec, shown, x, y, box, say);
  return svg;
}

function extent(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  return values.length ? [low, high] : [];
}

// From values to pixels, with the round values to write beside the axis.
function axisOf(values, [, unit, log], from, to) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!values.length) [low, high] = log ? [1, 10] : [0, 1];
  if (log) low = Math.max(low, 0.5);
  if (high <= low) high = log ? low * 2 : low + 1;
  const f = log ? Math.log10 : (v) => v, a = f(low), b = f(high);
  const at = (v) => from + (f(log ? Math.max(v, low) : v) - a) / (b - a) * (to - from);
  const room = Math.abs(to - from), apart = from < to ? 68 : 34;
  return { at, low, high, ticks: (log ? logTicks : linearTicks)(low, high, unit, Math.max(2, Math.floor(room / apart)), at, apart) };
}

function logTicks(low, high, unit, most, at, apart) {
  const tries = unit === "us" ? [[1e3, 1e4, 1e5, 1e6, 1e7, 6e7, 6e8, 36e8, 36e9, 864e8, 6048e8, 1, 10, 100]] : [[], [], [], [], [], []];
  if (unit !== "us")
    for (let power = 1e-6; power < 1e15; power *= 10) [1, 2, 5, 3, 7, 1.5].forEach((by, n) => tries[n].push(Number((power * by).toPrecision(3))));
  const found = [];
  for (const ticks of tries)
    for (const v of ticks)
      if (v >= low && v <= high && (v >= 1 || unit === "share" || unit === "tps") && found.every((other) => Math.abs(at(v) - at(other)) >= apart * 0.8)) found.push(v);
  return found;
}

function linearTicks(low, high, unit, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  let step = power * [1, 2, 5, 10].find((by) => power * by >= rough * 0.999);
  if (unit === "us" && rough > 1e5) step = NICE_US.find((nice) => nice >= rough) ?? Math.ceil(rough / 864e8) * 864e8;
  if (unit === "number" || unit === "tokens") step = Math.max(1, step);
  const ticks = [];
  for (let n = Math.ceil(low / step); n * step <= high + step * 1e-9; n++) ticks.push(n * step);
  return ticks;
}

function drawAxes(svg, spec, x, y, box) {
  for (const v of y.ticks) {
    shape("line", { class: "grid", x1: box.left, x2: box.right, y1: y.at(v), y2: y.at(v) }, svg);
    shape("text", { x: box.left - 6, y: y.at(v) + 4, "text-anchor": "end" }, svg).textContent = AXIS[spec.y[1]](v);
  }
  for (const v of x.ticks) {
    const left = x.at(v), words = AXIS[spec.x[1]](v), half = words.length * 4 + 1;
    shape("line", { class: "grid", x1: left, x2: left, y1: box.bottom, y2: box.bottom + 5 }, svg);
    shape("text", { x: Math.min(left, box.right + PLOT.right - half), y: box.bottom + 18, "text-anchor": "middle" }, svg).textContent = words;
  }
  shape("line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom }, svg);
  const foot = box.bottom + 36;
  shape("text", { x: box.right, y: foot, "text-anchor": "end" }, svg).textContent = `${spec.x[0]}${spec.x[2] ? " (log)" : ""} →`;
  shape("text", { x: 2, y: foot }, svg).textContent = `↑ ${spec.y[0]}${spec.y[2] ? " (log)" : ""}`;
}

// Each guide's words stand above the plot, in the lowest row that has room for them.
function guideRows(guides, x) {
  const ends = [], row = [], left = [];
  for (const [at, words] of guides) {
    const wide = words.length * 7.4 + 8, start = Math.min(x.at(at), x.at(x.high) + PLOT.right - wide);
    let free = ends.findIndex((end) => end <= start);
    if (free < 0) free = ends.push(0) - 1;
    ends[free] = start + wide;
    row.push(free);
    left.push(start);
  }
  return { count: ends.length, row, left };
}

function drawGuides(svg, guides, rows, x, box) {
  guides.forEach(([at, words], n) => {
    const left = x.at(at), base = 12 + 15 * (rows.count - 1 - rows.row[n]);
    shape("line", { class: "guide", x1: left, x2: left, y1: base - 8, y2: box.bottom }, svg);
    shape("text", { class: "over", x: rows.left[n] + 3, y: base }, svg).textContent = words;
  });
}

const points = (series, x, y) => series.x.map((v, n) => `${x.at(v).toFixed(1)},${y.at(series.y[n]).toFixed(1)}`);
const DRAW = {
  bars(svg, series, x, y, box) {
    const d = series.y.map((v, n) => v ? `M${x.at(series.x[n]).toFixed(1)},${box.bottom}V${y.at(v).toFixed(1)}H${Math.max(x.at(series.x[n]) + 1, x.at(series.x[n + 1]) - 1).toFixed(1)}V${box.bottom}z` : "");
    shape("path", { class: "mark", d: d.join(""), fill: `var(--${series.paint})` }, svg);
  },
  outline(svg, series, x, y, box) {
    const d = series.y.map((v, n) => `V${y.at(v).toFixed(1)}H${x.at(series.x[n + 1]).toFixed(1)}`);
    shape("path", { class: "mark stroked", d: `M${x.at(series.x[0])},${box.bottom}${d.join("")}V${box.bottom}`, stroke: `var(--${series.paint})` }, svg);
  },
  dots(svg, series, x, y) { // those on the same pixel are one
    const places = new Set(series.x.map((v, n) => `${Math.round(x.at(v))},${Math.round(y.at(series.y[n]))}`));
    shape("path", { class: "mark dots", d: [...places].map((at) => `M${at}h0`).join(""), stroke: `var(--${series.paint})` }, svg);
  },
  line(svg, series, x, y) {
    shape("path", { class: "mark stroked", d: `M${points(series, x, y).join("L")}`, stroke: `var(--${series.paint})` }, svg);
  },
  steps(svg, series, x, y) {
    const d = series.x.map((v, n) => `${n ? "H" : "M"}${x.at(v).toFixed(1)}${n ? "V" : ","}${y.at(series.y[n]).toFixed(1)}`);
    shape("path", { class: "mark stroked", d: d.join(""), stroke: `var(--${series.paint})` }, svg);
  },
  marks(svg, series, x, y, box) {
    series.x.forEach((v, n) => {
      const link = shape("a", { href: series.links?.[n] ?? "#", class: "mark" }, svg), left = x.at(v), top = y.at(series.y[n]);
      const wide = series.words[n].length * 6.8, flip = left + wide + 12 > box.right;
      shape("circle", { cx: left, cy: top, r: 6, fill: `var(--${series.paint})` }, link);
      shape("text", { class: "over", x: left + (flip ? -10 : 10), y: top + (top < box.top + 12 ? 14 : -8), "text-anchor": flip ? "end" : "start" }, link).textContent = series.words[n];
    });
  },
};

// Pointing at the plot says the nearest value, or the bin with its count and what lies at or below it.
function listen(svg, spec, shown, x, y, box, say) {
  svg.addEventListener("pointerleave", () => say(null));
  svg.addEventListener("pointermove", (event) => {
    const at = event.clientX - svg.getBoundingClientRect().left, up = event.clientY - svg.getBoundingClientRect().top;
    const said = shown.map((s) => s.shape === "bars" || s.shape === "outline" ? saidBin(spec, s, x, at) : saidNearest(spec, s, x, y, at, up));
    say(said.filter(Boolean).join("; ") || null);
  });
}

function saidBin(spec, series, x, at) {
  const bin = series.y.findIndex((_, n) => at >= x.at(series.x[n]) && at < x.at(series.x[n + 1]));
  if (bin < 0) return "";
  const write = AXIS[spec.x[1]], sum = (values) => values.reduce((total, v) => total + v, 0);
  const below = sum(series.y.slice(0, bin + 1)) / (sum(series.y) || 1);
  return `${series.name ? series.name + ": " : ""}${write(Math.max(0, series.x[bin]))} to ${write(series.x[bin + 1])}: ` +
    `${AXIS[spec.y[1]](series.y[bin])}, ${Math.round(1000 * below) / 10} % of those drawn up to here`;
}

function saidNearest(spec, series, x, y, at, up) {
  const loose = series.shape === "dots" || series.shape === "marks";
  let best = -1, least = loose ? 900 : Infinity;
  for (let n = 0; n < series.x.length; n++) {
    const across = x.at(series.x[n]) - at, down = loose ? y.at(series.y[n]) - up : 0;
    const far = across * across + down * down;
    if (far < least) { least = far; best = n; }
  }
  return best < 0 ? "" : `${series.name}: ${AXIS[spec.y[1]](series.y[best])} at ${AXIS[spec.x[1]](series.x[best])}`;
}
