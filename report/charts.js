// Charts: uPlot gives axes, zoom and linked cursors, and this file what is drawn between them and said below. Guides have
// their words above the plot, and a legend stands only where there is more than one thing to tell apart.

const PLOT = { height: 196, foot: 26, apart: 68 };

function charts(given, parent, words, key) {
  if (!given?.length) return;
  make("h3", words, parent);
  const grid = make("div", null, parent, "charts");
  const specs = given.map((spec) => ({ ...spec, series: spec.series.map(opened) }));
  const linked = specs.filter((spec) => spec.linked).flatMap((spec) => spec.series.flatMap((s) => extent(s.x)));
  const drawn = specs.map((spec) => chart(spec, grid, key, spec.linked ? extent(linked) : []));
  for (const draw of drawn) draw(); // once all have their place, and so their width
}

const opened = (series) => ({ ...series, x: numbersOf(series.x), y: numbersOf(series.y), base: series.base && numbersOf(series.base) });

// Returns what draws it.
function chart(spec, parent, key, common) {
  const node = make("figure", null, parent), caption = make("figcaption", null, node);
  make("b", spec.title, caption);
  if (spec.better) make("span", ` ${spec.better}`, caption, "quiet");
  const legend = make("div", null, node, "tools"), place = make("div", null, node, "plot"), titles = make("div", null, node, "axes");
  make("span", `↑ ${spec.y[0]}${spec.y[2] ? " (log)" : ""}`, titles);
  make("span", `${spec.x[0]}${spec.x[2] ? " (log)" : ""} →`, titles);
  const read = make("p", null, node, "quiet"), rest = spec.notes.join("; "), hidden = new Set();
  const say = (words) => { read.textContent = words || rest; };
  say("");
  place.tabIndex = 0;
  place.setAttribute("role", "img");
  place.setAttribute("aria-label", `${spec.title} ${spec.better} ${rest}. Arrow keys read values.`);
  let plot = null;
  node.plot = () => plot;
  const build = () => {
    plot?.destroy();
    plot = plotOf(spec, place, hidden, key, common, say);
  };
  fillChartLegend(legend, spec, hidden, build);
  readByKey(place, () => plot, say);
  return () => {
    build();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plot.redraw(false, true));
    let width = place.clientWidth;
    new ResizeObserver(() => { if (place.clientWidth !== width) { width = place.clientWidth; build(); } }).observe(place);
  };
}

function fillChartLegend(legend, spec, hidden, build) {
  const guided = new Map(spec.guides.filter(([, , of]) => of).map(([, , of]) => [of, "second"]));
  const entries = [...spec.series.filter((s) => s.name && s.x.length).map((s) => [s.name, s.paint]), ...guided];
  legend.hidden = entries.length < 2 && !guided.size;
  if (legend.hidden) return;
  for (const [name, paint] of entries) {
    const entry = check(legend, "", true, (on) => { hidden[on ? "delete" : "add"](name); build(); });
    make("span", null, entry, "swatch").style.background = `var(--${paint})`;
    entry.append(name);
  }
}

function plotOf(spec, place, hidden, key, common, say) {
  const width = Math.max(260, Math.floor(place.clientWidth || 480));
  const shown = spec.series.filter((series) => !hidden.has(series.name) && series.x.length);
  const guides = spec.guides.filter(([, , of]) => !hidden.has(of));
  const zero = shown.some((s) => MARKS.has(s.shape)) ? [0] : []; // things compared are seen in proportion
  const x = rangeOf([...zero, ...common, ...shown.flatMap((s) => extent(s.x)), ...guides.flatMap(([at, , of]) => of ? [at] : [])], spec.x);
  if (zero.length) x[1] *= 1.04;
  const y = heightsOf(spec, shown);
  const rows = guides.length ? placeGuides(guides, (v) => shareOf(v, x, spec.x[2]) * (width - 70), width - 60).count : 0;
  const axis = (range, given, length, apart) => ({
    stroke: () => ink("quiet"), font: "12px system-ui, sans-serif", ticks: { stroke: () => ink("line"), size: 5, width: 1 }, gap: 3,
    splits: (u, _, from, to) => ticksOf(from, to, given, length, apart), values: (_, ticks) => ticks.map(AXIS[given[1]]), filter: (_, ticks) => ticks,
    incrs: [1e15], space: 1, // or it hides an axis on which its own steps have no room
  });
  return new uPlot({
    width, height: PLOT.height + PLOT.foot + 8 + 15 * rows, legend: { show: false }, padding: [8 + 15 * rows, 22, 0, 0],
    cursor: { drag: { x: true, y: false, dist: 4 }, points: { show: false }, y: !spec.linked,
      ...(spec.linked ? { sync: { key, scales: ["x", null] } } : {}) },
    scales: { x: { time: false, distr: spec.x[2] ? 3 : 1, range: (_, from, to) => from < to ? [from, to] : x },
      y: { distr: spec.y[2] ? 3 : 1, range: () => y } },
    axes: [{ ...axis(x, spec.x, width - 70, PLOT.apart), size: PLOT.foot, grid: { show: false } },
      { ...axis(y, spec.y, PLOT.height, 34), size: widestOf, grid: { stroke: () => ink("line"), width: 1 } }],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [(u) => { for (const series of shown) paintSeries(u, series); paintGuides(u, guides); if (!shown.length) emptiness(u); }],
      setCursor: [(u) => say(u.cursor.left < 0 ? "" : saidAt(u, spec, shown))],
      ready: [(u) => { placeMarks(u, spec, shown); u.over.addEventListener("mouseleave", () => say("")); }],
      setScale: [(u, name) => { if (name === "x" && u.status === 1) placeMarks(u, spec, shown); }],
    },
  }, [x, y], place);
}

// From zero, unless that says nothing: ratios have 1 in the middle. What is highest does not touch the edge.
function heightsOf(spec, shown) {
  const values = shown.flatMap((s) => extent(s.y)), [low, high] = rangeOf(values, spec.y);
  if (spec.y[1] === "ratio") {
    const far = 1.1 * Math.max(0.02, ...values.map((v) => Math.abs(v - 1)));
    return [1 - far, 1 + far];
  }
  return spec.y[2] ? [low, high] : [low < 0 ? low - 0.03 * (high - low) : 0, high + 0.04 * (high - Math.min(low, 0))];
}

function shareOf(value, [low, high], log) {
  const f = log ? Math.log10 : (v) => v;
  return (f(Math.max(value, log ? low : -Infinity)) - f(low)) / (f(high) - f(low));
}

// As wide as its numbers.
function widestOf(u, words) {
  if (!words?.length) return 40;
  u.ctx.save();
  u.ctx.font = `${12 * uPlot.pxRatio}px system-ui, sans-serif`;
  const widest = Math.max(...words.map((w) => u.ctx.measureText(w).width));
  u.ctx.restore();
  return Math.ceil(widest / uPlot.pxRatio) + 14;
}

function emptiness(u) {
  u.ctx.fillStyle = ink("quiet");
  u.ctx.fillText("No values.", u.bbox.left + 40, u.bbox.top + 30);
}

// Each guide's words stand in the lowest row above the plot that has room for them.
function placeGuides(guides, at, right) {
  const ends = [], row = [], left = [];
  for (const n of [...guides.keys()].sort((a, b) => guides[a][0] - guides[b][0])) {
    const wide = guides[n][1].length * 6.6 + 10, start = Math.min(at(guides[n][0]), right - wide);
    let free = ends.findIndex((end) => end <= start);
    if (free < 0) free = ends.push(0) - 1;
    ends[free] = start + wide;
    row[n] = free;
    left[n] = start;
  }
  return { count: ends.length, row, left };
}

function paintGuides(u, guides) {
  u.root.querySelectorAll(".said").forEach((old) => old.remove());
  const box = u.over, top = box.offsetTop, seen = guides.filter(([at]) => at >= u.scales.x.min && at <= u.scales.x.max);
  const at = (v) => u.valToPos(v, "x"), places = placeGuides(seen, at, box.clientWidth + 20), pen = u.ctx, dots = uPlot.pxRatio;
  seen.forEach(([value, words, of], n) => {
    const bottom = 4 + 15 * places.row[n], x = u.valToPos(value, "x", true);
    const node = make("span", words, u.root.querySelector(".u-wrap"), of ? "said second" : "said");
    node.style.left = `${box.offsetLeft + places.left[n] + 3}px`;
    node.style.top = `${top - bottom - 14}px`;
    pen.save();
    pen.setLineDash([3 * dots, 3 * dots]);
    pen.globalAlpha = 0.6;
    rule(pen, x, (top - bottom - 8) * dots, x, u.bbox.top + u.bbox.height, ink(of ? "second" : "ink"), dots);
    pen.restore();
  });
}

// Arrow keys move the cursor, Escape takes it away.
function readByKey(place, plot, say) {
  place.addEventListener("keydown", (event) => {
    const u = plot(), step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") { u.setCursor({ left: -10, top: -10 }); return say(""); }
    if (!step) return;
    event.preventDefault();
    const wide = u.over.clientWidth, left = u.cursor.left < 0 ? 0 : u.cursor.left + step * wide / 50;
    u.setCursor({ left: Math.min(wide, Math.max(0, left)), top: u.over.clientHeight / 2 });
  });
}
