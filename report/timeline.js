// A timeline with its tools: zoom, legend, and the numbers of the request that is pointed at.
const TONES = { main: "main agent", child: "other agent", aside: "aside (title, search, check)", failed: "failed",
  recorded: "as recorded", warmup: "warm-up" };

function timeline(input, open) {
  const node = make("div");
  const title = make("h3", "", node), note = make("p", "", node, "quiet");
  const tools = make("div", null, node, "tools"), legend = make("div", null, node, "tools");
  const chart = make("div", null, node, "chart"), names = make("div", null, chart, "lanes");
  const scroll = make("div", null, chart, "scroll"), panel = make("div", null, node, "facts-of-bar");
  panel.setAttribute("aria-live", "polite");
  const state = { view: null, zoom: 1, clock: false, hidden: new Set(), at: null, critical: true, choose: null };

  const zoomBy = (factor) => { state.zoom = Math.min(64, Math.max(1, state.zoom * factor)); draw(); };
  for (const [sign, label, factor] of [["−", "Show more time", 0.5], ["+", "Show less time, wider", 2]]) {
    const button = make("button", sign, tools);
    button.setAttribute("aria-label", label);
    button.title = label;
    button.addEventListener("click", () => zoomBy(factor));
  }
  check(tools, "clock time, pauses in full length", false, (on) => { state.clock = on; draw(); });
  make("span", "Point at a request, or focus the chart and use the arrow keys.", tools, "quiet");

  function draw() {
    const view = state.view, part = scroll.scrollLeft / Math.max(1, scroll.scrollWidth);
    const width = Math.max(300, Math.floor((scroll.clientWidth || 900) * state.zoom));
    const drawn = drawTimeline(view, { width, clock: state.clock, hidden: state.hidden, critical: state.critical });
    scroll.replaceChildren(drawn.svg);
    scroll.scrollLeft = part * scroll.scrollWidth;
    follow(view, drawn, panel, scroll, state, open);
  }
  function show(number) {
    const view = state.view = input.views[number];
    state.at = null;
    title.textContent = `Timeline: ${view.label}`;
    note.textContent = view.note;
    note.hidden = !view.note;
    names.replaceChildren(...view.lanes.map(([name, depth]) => laneName(name, depth)));
    fillLegend(legend, view, state, draw);
    draw();
  }
  function point(bar) {
    state.choose(bar);
    const left = state.left(bar);
    if (left < scroll.scrollLeft || left > scroll.scrollLeft + scroll.clientWidth - 40) scroll.scrollLeft = left - scroll.clientWidth / 3;
  }
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
  return { node, show, point };
}

function laneName(name, depth) {
  const node = make("div", name);
  node.title = name;
  node.style.height = node.style.lineHeight = `${LANE}px`;
  node.style.paddingLeft = `${depth * 14}px`;
  return node;
}

function check(parent, words, checked, change) {
  const label = make("label", null, parent), box = make("input", null, label);
  box.type = "checkbox";
  box.checked = checked;
  box.addEventListener("change", () => change(box.checked));
  label.append(" ");
  label.append(words);
  return label;
}

// What bars mean, and the kinds of edges, each of which can be left out.
function fillLegend(legend, view, state, draw) {
  legend.replaceChildren();
  for (const tone of view.bars.tone.words) {
    const entry = make("span", null, legend);
    make("span", null, entry, "swatch").style.background = `var(--${tone})`;
    entry.append(TONES[tone]);
  }
  if (view.bars.first.some((first) => first !== null)) make("span", "paler start: waiting for the first token", legend, "quiet");
  const counts = view.links.kind.at.reduce((sum, at) => { sum[at] = (sum[at] ?? 0) + 1; return sum; }, []);
  view.links.kind.words.forEach((kind, at) => {
    const label = check(legend, "", !state.hidden.has(kind), (on) => { state.hidden[on ? "delete" : "add"](kind); draw(); });
    make("span", null, label, "stroke").style.borderColor = `var(--${kind})`;
    label.append(`${kind} (${counts[at]})`);
  });
  if (view.critical) {
    const label = check(legend, "", state.critical, (on) => { state.critical = on; draw(); });
    make("span", null, label, "stroke critical");
    label.append(view.critical.words);
  }
  const known = view.links.evidence.words.map((name, at) => `${name.replace("_", " ")} ${view.links.evidence.at.filter((v) => v === at).length}`);
  if (known.length) make("span", `edges known by: ${known.join(", ")}${view.links.evidence.words.includes("timing") ? " (thin: guessed)" : ""}`, legend, "quiet");
  if (view.links.start.some(Boolean)) make("span", "dashed: from the start, not the end", legend, "quiet");
}

// Pointing at a bar, or moving to it by key, lights what it waited for and lists its numbers.
function follow(view, drawn, panel, scroll, state, open) {
  const order = view.bars.start.map((_, bar) => bar).sort((a, b) => view.bars.start[a] - view.bars.start[b] || a - b);
  const nearest = (bars) => bars.reduce((best, bar) =>
    best === null || Math.abs(view.bars.start[bar] - view.bars.start[state.at]) <
      Math.abs(view.bars.start[best] - view.bars.start[state.at]) ? bar : best, null);

  function choose(bar) {
    state.at = bar;
    drawn.svg.classList.toggle("busy", bar !== null);
    drawn.svg.querySelectorAll(".lit, .at").forEach((node) => node.classList.remove("lit", "at"));
    drawn.svg.querySelectorAll(".said").forEach((node) => node.remove());
    describe(view, bar, panel);
    if (bar === null) return;
    drawn.bars[bar].classList.add("at");
    view.links.dst.forEach((dst, link) => {
      if (dst !== bar) return;
      for (const part of drawn.links[link]) part.classList.add("lit");
      drawn.bars[view.links.src[link]].classList.add("lit");
      saying(view, link, drawn);
    });
  }
  function move(key) {
    if (state.at === null) return order[0] ?? null;
    const place = order.indexOf(state.at), lane = view.bars.lane[state.at];
    if (key === "ArrowRight") return order[place + 1] ?? state.at;
    if (key === "ArrowLeft") return order[place - 1] ?? state.at;
    const next = lane + (key === "ArrowDown" ? 1 : -1);
    return nearest(order.filter((bar) => view.bars.lane[bar] === next)) ?? state.at;
  }
  drawn.svg.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return choose(null);
    if (event.key === "Enter" && state.at !== null) return open(state.at);
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    choose(move(event.key));
    if (state.at === null) return;
    const left = state.left(state.at);
    if (left < scroll.scrollLeft || left > scroll.scrollLeft + scroll.clientWidth - 40)
      scroll.scrollLeft = left - scroll.clientWidth / 3;
  });
  const barOf = new Map(drawn.bars.map((node, bar) => [node, bar]));
  drawn.svg.addEventListener("pointerover", (event) => barOf.has(event.target) && choose(barOf.get(event.target)));
  drawn.svg.addEventListener("click", (event) => barOf.has(event.target) && open(barOf.get(event.target)));
  state.choose = choose;
  state.left = (bar) => Number(drawn.bars[bar].getAttribute("x"));
  choose(state.at);
}

// How an arrow is known stands on it while what it leads to is chosen.
function saying(view, link, drawn) {
  const evidence = word(view.links.evidence, link), line = drawn.links[link][0];
  if (!evidence || !line) return;
  const { x, y, width, height } = line.getBBox(), wide = evidence.length * 3.5 + 4;
  const room = Number(drawn.svg.getAttribute("width")) - wide;
  shape("text", { class: "said", x: Math.max(wide, Math.min(room, x + width / 2)), y: y + height / 2 - (height ? -4 : 6),
    "text-anchor": "middle" }, drawn.svg).textContent = evidence.replace("_", " ");
}

function describe(view, bar, panel) {
  panel.replaceChildren();
  panel.classList.toggle("held", bar !== null);
  if (bar === null) return make("span", "No request chosen.", panel, "quiet");
  const list = make("dl", null, panel), start = view.bars.start[bar], end = view.bars.end[bar], first = view.bars.first[bar];
  const put = (name, value) => {
    const pair = make("div", null, list);
    make("dt", name, pair);
    make("dd", value, pair);
  };
  put("lane", view.lanes[view.bars.lane[bar]][0]);
  put("start", durationWords(start));
  put("took", end === null ? "unknown" : durationWords(end - start));
  if (first !== null) put("first token after", durationWords(first - start));
  for (const [name, unit, values] of view.details) {
    const value = unit === "text" ? word(values, bar) : values[bar];
    if (value !== null) put(name, written(value, unit) + (unit === "tokens" ? " tokens" : ""));
  }
  const into = view.links.dst.flatMap((dst, link) => dst === bar ? [link] : []);
  if (!into.length) return;
  const waits = make("ul", null, panel);
  for (const link of into) {
    const src = view.links.src[link], lane = view.lanes[view.bars.lane[src]][0];
    make("li", `${word(view.links.words, link)} (${lane}, started ${durationWords(view.bars.start[src])})`, waits);
  }
}
