// Draws one timeline as SVG: lanes down, time across, edges between bars. Positions come from the data's own axis, in
// which idle stretches are shortened, or run with the clock when asked.

const SVG = "http://www.w3.org/2000/svg";
const LANE = 30, TOP = 26, BAR = 16;

function shape(name, attributes, parent) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  parent?.append(node);
  return node;
}

function word(column, index) {
  const at = column.at[index];
  return at === null ? null : column.words[at];
}

// Time in microseconds -> 0..1.
function scale(view, clock) {
  const axis = view.axis, first = axis[0][0], last = axis[axis.length - 1][0];
  if (clock) return (t) => (t - first) / (last - first);
  return (t) => {
    let low = 1, high = axis.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (axis[middle][0] < t) low = middle + 1; else high = middle;
    }
    const [t0, x0] = axis[low - 1], [t1, x1] = axis[low];
    return Math.min(1, Math.max(0, x0 + (t - t0) / (t1 - t0) * (x1 - x0)));
  };
}

function drawTimeline(view, options) {
  const width = options.width, height = TOP + view.lanes.length * LANE + 6;
  const at = scale(view, options.clock), x = (t) => 6 + at(t) * (width - 12);
  const svg = shape("svg", { width, height, tabindex: 0, role: "group", "aria-label":
    `Timeline of ${view.label}: arrow keys move between requests` });
  drawGrid(svg, view, x, width, height, options.clock);
  const boxes = view.bars.start.map((_, bar) => boxOf(view, bar, x));
  const path = options.critical ? view.critical?.bars ?? [] : [], before = new Map(path.map((bar, n) => [bar, path[n - 1]]));
  const links = view.links.src.map((src, link) => {
    const parts = drawLink(svg, view, link, boxes, x, options.hidden);
    for (const part of parts) {
      if (before.get(view.links.dst[link]) === src) part.classList.add("critical");
      if (word(view.links.evidence, link) === "timing") part.classList.add("guess");
    }
    return parts;
  });
  const bars = boxes.map((box, bar) => drawBar(svg, view, bar, box));
  shape("path", { class: "before", d: boxes.map((box, bar) => waitOf(view.bars, bar, box, x)).join("") }, svg);
  for (const bar of path) {
    const { left, width, top, height } = boxes[bar];
    shape("rect", { class: "critical", x: left, y: top + height + 1, width: Math.max(3, width), height: 3 }, svg);
  }
  return { svg, bars, links };
}

function boxOf(view, bar, x) {
  const half = view.bars.half[bar], left = x(view.bars.start[bar]);
  const end = view.bars.end[bar] === null ? left : x(view.bars.end[bar]);
  const top = TOP + view.bars.lane[bar] * LANE + (LANE - BAR) / 2;
  return half === 0 ? { left, end, width: Math.max(1.5, end - left), top, height: BAR }
    : { left, end, width: Math.max(1.5, end - left), top: top - 3 + (half - 1) * 12, height: 10 };
}

function drawBar(svg, view, bar, box) {
  const tone = word(view.bars.tone, bar);
  const node = shape("rect", { class: "bar", x: box.left, y: box.top, width: box.width, height: box.height,
    rx: Math.min(2, box.width / 4), fill: `var(--${tone})` }, svg);
  return node;
}

// The part of a bar before its first token.
function waitOf(bars, bar, box, x) {
  const first = bars.first[bar];
  if (first === null || first <= bars.start[bar]) return "";
  return `M${box.left},${box.top + 1}H${Math.max(box.left, x(first))}v${box.height - 2}H${box.left}z`;
}

function drawLink(svg, view, link, boxes, x, hidden) {
  const kind = word(view.links.kind, link);
  if (hidden.has(kind)) return [];
  const a = boxes[view.links.src[link]], b = boxes[view.links.dst[link]];
  const x1 = view.links.start[link] ? a.left : a.end, x2 = b.left, down = Math.sign(b.top - a.top);
  const y1 = a.top + a.height / 2 + down * a.height / 2;
  const dash = view.links.start[link] ? "4 3" : "none";
  const paint = { class: "link", stroke: `var(--${kind})`, "stroke-dasharray": dash };
  if (down === 0) return [shape("path", { ...paint, d: `M${x1},${y1}H${x2}` }, svg)];
  const y2 = b.top + b.height / 2 - down * (b.height / 2 + 5);
  const bend = (y1 + y2) / 2;
  const line = shape("path", { ...paint, d: `M${x1},${y1}C${x1},${bend} ${x2},${bend} ${x2},${y2}` }, svg);
  const tip = shape("path", { class: "link tip", fill: `var(--${kind})`,
    d: `M${x2},${y2 + down * 5}l-3.5,${-down * 6}h7z` }, svg);
  return [line, tip];
}

function drawGrid(svg, view, x, width, height, clock) {
  if (!clock)
    for (const [start, stop] of view.cuts)
      shape("rect", { class: "cut", x: x(start), y: TOP - 4, width: Math.max(2, x(stop) - x(start)),
        height: height - TOP }, svg);
  view.lanes.forEach((_, lane) => {
    const y = TOP + lane * LANE + LANE - 0.5;
    shape("line", { class: "grid", x1: 0, x2: width, y1: y, y2: y }, svg);
  });
  const axis = view.axis, first = axis[0][0], last = axis[axis.length - 1][0];
  for (const [t, left] of ticks(first, last, x, width)) {
    shape("line", { class: "grid", x1: left, x2: left, y1: TOP - 6, y2: height }, svg);
    shape("text", { x: left + 3, y: 14 }, svg).textContent = durationWords(t - first);
  }
}

const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400];

// The roundest times first, as many as fit beside each other.
function ticks(first, last, x, width) {
  const found = [];
  for (const step of STEPS_S.toReversed().map((s) => s * 1e6)) {
    if ((last - first) / step > 2000) break;
    for (let t = first; t <= last; t += step) {
      const left = x(t);
      if (left < width - 64 && found.every(([, other]) => Math.abs(left - other) > 84)) found.push([t, left]);
    }
  }
  return found;
}
