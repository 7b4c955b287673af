// Builds the page from its JSON: a section for each input, with numbers, a table, and a timeline of the chosen row.
"use strict";

function make(name, content, parent, className) {
  const node = document.createElement(name);
  if (content !== undefined && content !== null) node.append(content);
  if (className) node.className = className;
  parent?.append(node);
  return node;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

function durationWords(us) {
  const s = us / 1e6;
  if (s < 0) return "-" + durationWords(-us);
  if (s === 0) return "0 s";
  if (s < 0.001) return `${Math.round(us)} µs`;
  if (s < 1) return `${grouped.format(us / 1000)} ms`;
  if (s < 60) return `${grouped.format(s)} s`;
  const whole = Math.round(s);
  for (const [size, unit, small, smallUnit] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]])
    if (whole >= size) {
      const rest = Math.floor(whole % size / small);
      return `${Math.floor(whole / size)} ${unit}` + (rest ? ` ${rest} ${smallUnit}` : "");
    }
}

function bytesWords(n) {
  for (const [size, unit] of [[1 << 30, "GiB"], [1 << 20, "MiB"], [1024, "KiB"]])
    if (n >= size) return `${grouped.format(Math.round(n / size * 10) / 10)} ${unit}`;
  return `${n} B`;
}

const WRITE = {
  text: (v) => v,
  number: (v) => grouped.format(v),
  tokens: (v) => grouped.format(v),
  bytes: bytesWords,
  us: durationWords,
  ms: (v) => `${grouped.format(v)} ms`,
  share: (v) => `${(100 * v).toFixed(1)} %`,
};
const written = (value, unit) => value === null ? "–" : WRITE[unit](value);
const KINDS = { sessions: "Sessions: sizes, shapes and times, no text.", run: "A replay against an inference server.",
  captures: "Captures: what the recorder heard. Ids stand as the client sent them: do not publish." };
const TONES = { main: "main agent", child: "other agent", aside: "aside (title, search, check)", failed: "failed",
  recorded: "as recorded", warmup: "warm-up" };

function section(input, index) {
  const node = make("section", null, document.getElementById("report"));
  node.id = `input-${index + 1}`;
  make("h2", input.title, node);
  make("p", KINDS[input.kind], node, "kind");
  facts(input, node);
  numbers(input, node);
  if (input.notes.length) {
    const list = make("ul", null, node, "notes");
    for (const note of input.notes) make("li", note, list);
  }
  if (input.spreads) spreads(input.spreads, node);
  const link = make("a", input.title, document.getElementById("contents"));
  link.href = `#${node.id}`;
  if (!input.rows.length) return;
  const chart = timeline(input);
  table(input, node, chart.show);
  node.append(chart.node);
  chart.show(0);
}

function numbers(input, parent) {
  const grid = make("div", null, parent, "numbers");
  for (const [title, value, remark] of input.numbers) {
    const card = make("div", null, grid, "number");
    make("div", title, card);
    make("b", value, card);
    make("div", remark, card);
  }
}

function facts(input, parent) {
  if (!input.facts.length) return;
  const details = make("details", null, parent);
  details.open = input.facts.length <= 6;
  make("summary", "Where it comes from, settings", details);
  const list = make("dl", null, details, "facts");
  for (const [name, value] of input.facts) {
    make("dt", name, list);
    make("dd", value, list);
  }
}

function spreads(given, parent) {
  make("h3", given.title, parent);
  const node = make("table", null, make("div", null, parent, "scroll"));
  const head = make("tr", null, make("thead", null, node));
  for (const name of ["", ...given.head]) make("th", name, head);
  const body = make("tbody", null, node);
  for (const row of given.rows) {
    const line = make("tr", null, body);
    for (const cell of row) make("td", cell, line);
  }
}

// Rows can be searched, sorted by a click on a column's name, and chosen.
function table(input, parent, show) {
  make("h3", input.kind === "run" ? "Timelines" : "Sessions", parent);
  const tools = make("div", null, parent, "tools");
  const search = make("input", null, make("label", "Search ", tools));
  search.type = "search";
  const found = make("span", "", tools, "quiet");
  found.setAttribute("aria-live", "polite");
  const node = make("table", null, make("div", null, parent, "scroll tall"));
  const head = make("tr", null, make("thead", null, node)), body = make("tbody", null, node);
  const lines = input.rows.map((row, number) => tableRow(input, row, () => choose(number)));
  let sorted = { column: -1, down: false }, order = lines.map((_, number) => number);

  function choose(number) {
    lines.forEach((line, other) => line.classList.toggle("chosen", other === number));
    show(number);
  }
  function fill() {
    const wanted = search.value.trim().toLowerCase();
    const shown = order.filter((number) => lines[number].textContent.toLowerCase().includes(wanted));
    body.replaceChildren(...shown.map((number) => lines[number]));
    found.textContent = wanted ? `${shown.length} of ${lines.length}` : "";
  }
  function sort(column) {
    sorted = { column, down: sorted.column === column ? !sorted.down : input.columns[column][1] !== "text" };
    const value = (number) => input.rows[number][column] ?? -Infinity;
    order.sort((a, b) => (value(a) < value(b) ? -1 : value(a) > value(b) ? 1 : a - b) * (sorted.down ? -1 : 1));
    [...head.children].forEach((th, other) =>
      th.setAttribute("aria-sort", other !== column ? "none" : sorted.down ? "descending" : "ascending"));
    fill();
  }
  input.columns.forEach(([name, unit], column) => {
    const button = make("button", name, make("th", null, head, unit === "text" ? "text" : ""));
    button.addEventListener("click", () => sort(column));
  });
  search.addEventListener("input", fill);
  lines[0].classList.add("chosen");
  fill();
}

function tableRow(input, row, choose) {
  const line = document.createElement("tr");
  row.forEach((value, column) => {
    const unit = input.columns[column][1];
    const cell = make("td", column ? written(value, unit) : null, line, unit === "text" ? "text" : "");
    if (column) return;
    make("button", value, cell).addEventListener("click", choose);
  });
  return line;
}

function timeline(input) {
  const node = make("div");
  const title = make("h3", "", node), note = make("p", "", node, "quiet");
  const tools = make("div", null, node, "tools"), legend = make("div", null, node, "tools");
  const chart = make("div", null, node, "chart"), names = make("div", null, chart, "lanes");
  const scroll = make("div", null, chart, "scroll"), panel = make("div", null, node, "facts-of-bar");
  panel.setAttribute("aria-live", "polite");
  const state = { view: null, zoom: 1, clock: false, hidden: new Set(), at: null };

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
    const drawn = drawTimeline(view, { width, clock: state.clock, hidden: state.hidden });
    scroll.replaceChildren(drawn.svg);
    scroll.scrollLeft = part * scroll.scrollWidth;
    follow(view, drawn, panel, scroll, state);
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
  let waiting = 0;
  addEventListener("resize", () => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(draw); });
  return { node, show };
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
  if (view.links.start.some(Boolean)) make("span", "dashed: from the start, not the end", legend, "quiet");
}

// Pointing at a bar, or moving to it by key, lights what it waited for and lists its numbers.
function follow(view, drawn, panel, scroll, state) {
  const order = view.bars.start.map((_, bar) => bar).sort((a, b) => view.bars.start[a] - view.bars.start[b] || a - b);
  const nearest = (bars) => bars.reduce((best, bar) =>
    best === null || Math.abs(view.bars.start[bar] - view.bars.start[state.at]) <
      Math.abs(view.bars.start[best] - view.bars.start[state.at]) ? bar : best, null);

  function choose(bar) {
    state.at = bar;
    drawn.svg.classList.toggle("busy", bar !== null);
    drawn.svg.querySelectorAll(".lit, .at").forEach((node) => node.classList.remove("lit", "at"));
    describe(view, bar, panel);
    if (bar === null) return;
    drawn.bars[bar].classList.add("at");
    view.links.dst.forEach((dst, link) => {
      if (dst !== bar) return;
      for (const part of drawn.links[link]) part.classList.add("lit");
      drawn.bars[view.links.src[link]].classList.add("lit");
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
    if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
    choose(move(event.key));
    if (state.at === null) return;
    const left = Number(drawn.bars[state.at].getAttribute("x"));
    if (left < scroll.scrollLeft || left > scroll.scrollLeft + scroll.clientWidth - 40)
      scroll.scrollLeft = left - scroll.clientWidth / 3;
  });
  drawn.bars.forEach((node, bar) => node.addEventListener("pointerenter", () => choose(bar)));
  choose(state.at);
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

JSON.parse(document.getElementById("data").textContent).forEach(section);
