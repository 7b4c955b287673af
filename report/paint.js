// Paints one timeline on a canvas: lanes down, time across, edges between bars; only what the window shows.

const HEAD = 24; // pixels of the time axis above the lanes
const EVIDENCE = ["id", "tool_result", "notification", "agent_message", "fork", "prefix", "timing"];

// Colours of the style sheet, as a canvas takes them; asked again when light and dark change.
let INKS = new Map();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { INKS = new Map(); });
function ink(name) {
  if (!INKS.has(name)) {
    const probe = make("span", null, document.body);
    probe.style.color = `var(--${name})`;
    INKS.set(name, getComputedStyle(probe).color);
    probe.remove();
  }
  return INKS.get(name);
}

function sizeCanvas(canvas, width, height) {
  const dots = devicePixelRatio || 1, pen = canvas.getContext("2d");
  canvas.width = Math.round(width * dots);
  canvas.height = Math.round(height * dots);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  pen.setTransform(dots, 0, 0, dots, 0, 0);
  pen.font = "12px system-ui, sans-serif";
  return pen;
}

// What lies where: `x` of a time, `y` of a lane's top, boxes of bars. `span` is the window, as shares of the whole axis.
function layoutOf(view, state, size) {
  const names = size.width < 700 ? 96 : 150, wide = size.width - names - 8, [a, b] = state.span;
  const scale = scaleOf(view, state.clock), row = view.lanes.length > 40 ? 18 : 30;
  const left = (share) => names + (share - a) / (b - a) * wide, x = (t) => left(scale.at(t));
  const shares = view[`shares-${state.clock}`] ??= { start: view.start.map(scale.at), end: view.end.map(scale.at) };
  const y = (lane) => HEAD + lane * row - state.top;
  const half = view.tones.map((tone) => view.recorded !== null || tone === "aside");
  const box = (bar) => {
    const start = left(shares.start[bar]), end = left(shares.end[bar]), low = half[view.tone[bar]];
    return { left: start, end: end >= start ? end : start, top: y(view.lane[bar]) + row * (low ? 0.55 : 0.22), height: row * (low ? 0.33 : 0.55) };
  };
  const seen = [Math.max(0, Math.floor(state.top / row)), Math.min(view.lanes.length, Math.ceil((state.top + size.height - HEAD) / row))];
  return { names, wide, left, shares, row, x, y, box, seen, right: size.width - 8, height: size.height, time: (left) => scale.time(a + (left - names) / wide * (b - a)) };
}

function paintTimeline(pen, view, state, size) {
  const place = layoutOf(view, state, size);
  pen.clearRect(0, 0, size.width, size.height);
  paintGround(pen, view, state, place);
  pen.save();
  pen.beginPath();
  pen.rect(place.names, HEAD, size.width - place.names, size.height);
  pen.clip();
  const lit = new Set(state.at === null ? [] : view.links.filter((link) => link.dst === state.at).map((link) => link.src));
  paintLinks(pen, view, state, place, lit);
  place.painted = paintBars(pen, view, state, place, lit);
  if (state.critical) paintPath(pen, view, place);
  if (state.at !== null) paintChosen(pen, view, state, place);
  if (state.cross !== null) rule(pen, state.cross, HEAD, state.cross, size.height, ink("ink"), 0.5);
  pen.restore();
  return place;
}

function paintGround(pen, view, state, place) {
  const { names, right, height, row } = place;
  if (!state.clock) {
    pen.fillStyle = ink("raised");
    for (const [start, stop] of view.cuts) {
      const left = Math.max(names, place.x(start)), width = Math.min(right, place.x(stop)) - left;
      if (width > 0 || left > names && left < right) pen.fillRect(left, HEAD - 4, Math.max(2, width), height);
    }
  }
  for (const [t, left] of timeTicks(view, place)) {
    rule(pen, left, HEAD - 6, left, height, ink("line"), 1);
    label(pen, durationWords(t - view.axis[0]), left + 3, 14, ink("quiet"));
  }
  for (let lane = place.seen[0]; lane < place.seen[1]; lane++) {
    const top = place.y(lane), [name, depth] = view.lanes[lane];
    rule(pen, 0, top + row - 0.5, right, top + row - 0.5, ink("line"), 1);
    if (top > HEAD - row / 2) label(pen, fitted(pen, name, names - 16 - depth * 12), 8 + depth * 12, top + row / 2 + 4, ink("ink"));
  }
  pen.clearRect(0, 0, names, HEAD - 1);
  rule(pen, names - 0.5, 0, names - 0.5, height, ink("line"), 1);
}

// Cut in the middle: names that begin alike often end differently.
function fitted(pen, words, room) {
  if (pen.measureText(words).width <= room) return words;
  let keep = words.length - 1, cut = words;
  while (keep > 1 && pen.measureText(cut).width > room) {
    keep--;
    cut = `${words.slice(0, Math.ceil(keep / 2))}…${words.slice(words.length - Math.floor(keep / 2))}`;
  }
  return cut;
}

function paintBars(pen, view, state, place, lit) {
  const busy = state.at !== null, pale = ink("ground");
  let painted = 0;
  for (let lane = place.seen[0]; lane < place.seen[1]; lane++) {
    let reach = -1, last = -1;
    for (const bar of view.byLane[lane]) {
      const end = place.left(place.shares.end[bar]);
      if (!view.recorded && view.tone[bar] === last && end <= reach && end - place.left(place.shares.start[bar]) < 2) continue; // on pixels of its kind
      const box = place.box(bar);
      if (view.recorded) paintRecorded(pen, view, bar, box, place);
      if (box.end < place.names || box.left > place.right) continue;
      const tone = view.tone[bar], width = Math.max(1.5, box.end - box.left);
      reach = box.left + width;
      last = tone;
      painted++;
      pen.globalAlpha = busy && bar !== state.at && !lit.has(bar) ? 0.45 : 1;
      pen.fillStyle = ink(view.tones[tone]);
      pen.fillRect(box.left, box.top, width, box.height);
      const first = view.first[bar], wait = place.x(first) - box.left;
      if (wait > 0.7) { pen.globalAlpha *= 0.55; pen.fillStyle = pale; pen.fillRect(box.left, box.top + 1, Math.min(wait, width), box.height - 2); }
      if (view.due && place.x(view.due[bar]) < box.left - 1) paintLead(pen, view, bar, box, place);
    }
  }
  pen.globalAlpha = 1;
  return painted;
}

function paintRecorded(pen, view, bar, box, place) {
  const left = place.x(view.recorded[bar]), end = Number.isNaN(view.recordedEnd[bar]) ? left : place.x(view.recordedEnd[bar]);
  if (end < place.names || left > place.right) return;
  pen.globalAlpha = 1;
  pen.fillStyle = ink("recorded");
  pen.fillRect(left, place.y(view.lane[bar]) + place.row * 0.15, Math.max(1.5, end - left), place.row * 0.33);
}

// From when a request was due to when it was sent.
function paintLead(pen, view, bar, box, place) {
  const middle = box.top + box.height / 2;
  rule(pen, place.x(view.due[bar]), middle, box.left, middle, ink("quiet"), 1);
}

function paintLinks(pen, view, state, place, lit) {
  const before = new Map(view.path.map((bar, n) => [bar, view.path[n - 1]]));
  for (const link of view.links) {
    if (state.hidden.has(link.kind)) continue;
    const chosen = state.at === link.dst, critical = state.critical && before.get(link.dst) === link.src;
    const name = critical ? "critical" : state.colours === "kind" ? link.kind : `by-${link.evidence}`;
    pen.globalAlpha = state.at !== null && !chosen ? 0.15 : critical || chosen ? 1 : 0.75;
    pen.lineWidth = critical || chosen ? 2.4 : link.evidence === "timing" ? 0.8 : 1.4;
    pen.strokeStyle = pen.fillStyle = ink(name);
    pen.setLineDash(link.start ? [4, 3] : []);
    paintLink(pen, link, place);
  }
  pen.setLineDash([]);
  pen.globalAlpha = 1;
}

function paintLink(pen, link, place) {
  const a = place.box(link.src), b = place.box(link.dst), from = link.start ? a.left : a.end, to = b.left;
  if (Math.max(from, to) < place.names || Math.min(from, to) > place.right) return;
  const down = Math.sign(b.top - a.top), y1 = a.top + a.height / 2 + down * a.height / 2;
  if (Math.max(a.top, b.top) < -40 || Math.min(a.top, b.top) > place.height + 40) return;
  pen.beginPath();
  pen.moveTo(from, y1);
  if (down === 0) { pen.lineTo(to, y1); pen.stroke(); return; }
  const y2 = b.top + b.height / 2 - down * (b.height / 2 + 5), bend = (y1 + y2) / 2;
  pen.bezierCurveTo(from, bend, to, bend, to, y2);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(to, y2 + down * 5);
  pen.lineTo(to - 3.5, y2 - down);
  pen.lineTo(to + 3.5, y2 - down);
  pen.fill();
}

function paintPath(pen, view, place) {
  pen.fillStyle = ink("critical");
  for (const bar of view.path) {
    const { left, end, top, height } = place.box(bar);
    pen.fillRect(left, top + height + 1, Math.max(3, end - left), 3);
  }
}

// A frame around the chosen bar, and on the edges into it how they are known.
function paintChosen(pen, view, state, place) {
  const at = place.box(state.at);
  if (at.end < place.names || at.left > place.right) return;
  pen.strokeStyle = ink("ink");
  pen.lineWidth = 2;
  pen.strokeRect(at.left - 1, at.top - 1, Math.max(1.5, at.end - at.left) + 2, at.height + 2);
  for (const link of view.links) {
    if (link.dst !== state.at || !link.evidence || state.hidden.has(link.kind)) continue;
    const from = place.box(link.src), words = link.evidence.replace("_", " "), half = pen.measureText(words).width / 2 + 4;
    const x = Math.min(place.right - half, Math.max(place.names + half, ((link.start ? from.left : from.end) + at.left) / 2));
    const y = from.top === at.top ? at.top - 5 : (from.top + at.top + at.height) / 2 + 4;
    pen.textAlign = "center";
    pen.lineWidth = 4;
    pen.strokeStyle = ink("ground");
    pen.strokeText(words, x, y);
    label(pen, words, x, y, ink("ink"));
    pen.textAlign = "left";
  }
}

function rule(pen, x1, y1, x2, y2, colour, width) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x2, y2);
  pen.stroke();
}

function label(pen, words, x, y, colour) {
  pen.fillStyle = colour;
  pen.fillText(words, x, y);
}

const STEPS_S = [1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300,
  600, 1200, 1800, 3600, 7200, 14400, 43200, 86400];

// The roundest times first, as many as fit beside each other in the window.
function timeTicks(view, place) {
  const zero = view.axis[0], from = place.time(place.names), to = place.time(place.right), found = [];
  for (const step of STEPS_S.toReversed().map((s) => s * 1e6)) {
    if ((to - from) / step > 400) break;
    for (let n = Math.ceil((from - zero) / step); zero + n * step <= to; n++) {
      const t = zero + n * step, left = place.x(t);
      if (left >= place.names && left < place.right - 64 && found.every(([, other]) => Math.abs(left - other) > 84)) found.push([t, left]);
    }
  }
  return found;
}
