// A timeline with its tools: zoom and pan, legend, counts at the pointer, and the numbers of the request pointed at.
const TONES = { main: "main agent", child: "other agent", aside: "aside (title, search, check)", failed: "failed",
  warmup: "warm-up" };
const WHOLE = [0, 1], NARROWEST = 1e-6, TALLEST = 560;

function timeline(input, open) {
  const node = make("div"), title = make("h3", "", node), note = make("p", "", node, "quiet");
  const tools = make("div", null, node, "tools"), legend = make("div", null, node, "tools");
  const frame = make("div", null, node, "chart"), canvas = make("canvas", null, frame), rest = make("div", null, frame);
  const counts = make("p", "", node, "quiet counts"), panel = make("div", null, node, "facts-of-bar");
  panel.setAttribute("aria-live", "polite");
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "application");
  const state = { view: null, number: 0, way: 0, span: [...WHOLE], top: 0, clock: false, hidden: new Set(), at: null, cross: null,
    critical: true, colours: "kind", place: null };

  let waiting = 0, drawnWidth = 0;
  const later = () => { if (!waiting) waiting = requestAnimationFrame(() => { waiting = 0; draw(); }); };
  function draw() {
    const view = state.view, row = view.lanes.length > 40 ? 18 : 30, full = HEAD + view.lanes.length * row + 8;
    drawnWidth = frame.clientWidth;
    const size = { width: Math.max(280, drawnWidth), height: Math.min(full, TALLEST) };
    frame.style.height = `${size.height + 2}px`;
    rest.style.height = `${full - size.height}px`;
    state.top = frame.scrollTop;
    state.place = paintTimeline(sizeCanvas(canvas, size.width, size.height), view, state, size);
    canvas.dataset.span = state.span.join(" ");
    canvas.dataset.painted = state.place.painted;
    canvas.dataset.at = state.at ?? "";
  }
  function show(number, way = 0) {
    const changed = number !== state.number || !state.view;
    Object.assign(state, { number, way, view: openView(input, number, way), at: null, cross: null });
    if (changed) state.span = [...WHOLE];
    frame.scrollTop = 0;
    const view = state.view;
    title.textContent = `Who ran when, who waited? ${view.label}`;
    canvas.setAttribute("aria-label", `Timeline of ${view.label}. Arrow keys move between requests, Enter opens one, plus and minus zoom, 0 shows all.`);
    note.textContent = view.note;
    note.hidden = !view.note;
    fillTools(tools, state, { zoom: (by) => zoom(by), whole, clock, way: (n) => show(state.number, n) });
    fillLegend(legend, state, later);
    describe(view, null, panel);
    draw();
  }
  function choose(row) {
    state.at = row;
    describe(state.view, row, panel);
    later();
  }
  function setSpan(from, width) {
    const kept = Math.min(1, Math.max(NARROWEST, width)), left = Math.min(1 - kept, Math.max(0, from));
    state.span = [left, left + kept];
    later();
  }
  function zoom(by, about = shareOfChosen()) {
    const [a, b] = state.span, middle = a + (b - a) * about, width = Math.min(1, Math.max(NARROWEST, (b - a) * by));
    setSpan(middle - width * about, width);
  }
  function shareOfChosen() {
    if (state.at === null) return 0.5;
    const { left, end } = state.place.box(state.at), share = ((left + end) / 2 - state.place.names) / state.place.wide;
    return share >= 0 && share <= 1 ? share : 0.5;
  }
  const pan = (share) => setSpan(state.span[0] + share * (state.span[1] - state.span[0]), state.span[1] - state.span[0]);
  function whole() { setSpan(0, 1); }
  function clock(on) { state.clock = on; later(); }
  function reveal(row) {
    draw();
    const { left, end, top } = state.place.box(row), { names, right } = state.place;
    if (left < names || left > right - 20) pan(((left + Math.min(end, left + 100)) / 2 - (names + right) / 2) / state.place.wide);
    if (top < HEAD || top > canvas.clientHeight - 30) frame.scrollTop += top - canvas.clientHeight / 2;
    later();
  }
  function point(row) { choose(row); reveal(row); }

  listenTo(canvas, state, { choose, open, zoom, pan, whole, reveal, later, say: (words) => { counts.textContent = words; } });
  frame.addEventListener("scroll", later);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", later);
  new ResizeObserver(() => { if (state.view && frame.clientWidth !== drawnWidth) later(); }).observe(frame);
  return { node, show, point };
}

function listenTo(canvas, state, does) {
  let held = null;
  const where = (event) => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  canvas.addEventListener("wheel", (event) => { // without shift the page scrolls
    if (!event.shiftKey) return;
    event.preventDefault();
    const { names, wide } = state.place;
    does.zoom(1.0015 ** (event.deltaY || event.deltaX), Math.min(1, Math.max(0, (where(event)[0] - names) / wide)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, from: event.clientX, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [x, y] = where(event);
    if (held && Math.abs(event.clientX - held.from) > 4) held.moved = true;
    if (held?.moved) {
      does.pan((held.x - event.clientX) / state.place.wide);
      held.x = event.clientX;
      return;
    }
    state.cross = x > state.place.names ? x : null;
    does.say(state.cross === null ? "" : countsAt(state.view, state.place.time(x)));
    const row = hit(state.view, state.place, x, y);
    if (row !== null && row !== state.at) does.choose(row); else does.later();
  });
  canvas.addEventListener("pointerup", (event) => {
    const row = held?.moved ? null : hit(state.view, state.place, ...where(event));
    held = null;
    if (row !== null) does.open(row);
  });
  canvas.addEventListener("pointerleave", () => { state.cross = null; does.say(""); does.later(); });
  canvas.addEventListener("keydown", (event) => {
    const act = { Escape: () => does.choose(null), Enter: () => state.at !== null && does.open(state.at), "+": () => does.zoom(0.5),
      "=": () => does.zoom(0.5), "-": () => does.zoom(2), 0: does.whole }[event.key];
    if (!act && !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    if (act) return act();
    if (event.shiftKey && (event.key === "ArrowLeft" || event.key === "ArrowRight")) return does.pan(event.key === "ArrowLeft" ? -0.2 : 0.2);
    const row = step(state.view, state.at, event.key);
    if (row === null) return;
    does.choose(row);
    does.reveal(row);
  });
}

// The bar under the pointer, of those in its lane the one that began last; a thin one within 3 pixels.
function hit(view, place, x, y) {
  const lane = Math.floor((y - place.y(0)) / place.row);
  if (y < HEAD || x < place.names || !view.byLane[lane]) return null;
  let found = null;
  for (const row of view.byLane[lane]) {
    const box = place.box(row);
    if (box.left > x + 3) break;
    if (Math.max(box.end, box.left + 2) >= x - 3) found = row;
  }
  return found;
}

function step(view, at, key) {
  if (at === null) return view.order[0] ?? null;
  if (key === "ArrowRight" || key === "ArrowLeft") {
    const place = rankOf(view, at) + (key === "ArrowRight" ? 1 : -1);
    return view.order[place] ?? at;
  }
  let lane = view.lane[at];
  const down = key === "ArrowDown" ? 1 : -1;
  do lane += down; while (view.byLane[lane] && !view.byLane[lane].length);
  const near = (row) => Math.abs(view.start[row] - view.start[at]);
  return view.byLane[lane]?.reduce((best, row) => near(row) < near(best) ? row : best) ?? at;
}

function rankOf(view, row) {
  view.ranks ??= view.order.reduce((ranks, of, rank) => { ranks[of] = rank; return ranks; }, new Uint32Array(view.count));
  return view.ranks[row];
}

// How many requests ran, waited for their first token and were done at a time.
function countsAt(view, t) {
  const sorted = (name) => view[`sorted-${name}`] ??= Float64Array.from(view[name], (v) => Number.isNaN(v) ? Infinity : v).sort();
  const until = (values) => {
    let low = 0, high = values.length;
    while (low < high) { const middle = (low + high) >> 1; if (values[middle] <= t) low = middle + 1; else high = middle; }
    return low;
  };
  const begun = until(sorted("start")), first = until(sorted("first")), done = until(sorted("end"));
  const heard = Math.max(first, done);
  return `At ${durationWords(t - view.axis[0])}: ${grouped.format(begun - done)} in flight` +
    (first ? `, ${grouped.format(Math.max(0, begun - heard))} of them waiting for the first token` : "") + `, ${grouped.format(done)} done.`;
}
