// What stands around a timeline: its tools, what its colours mean, and the numbers of one request.

function fillTools(tools, state, does) {
  tools.replaceChildren();
  for (const [sign, words, act] of [["−", "Show more time", () => does.zoom(2)], ["+", "Show less time, wider", () => does.zoom(0.5)],
    ["whole", "Show all of it", does.whole]]) {
    const button = make("button", sign, tools);
    button.setAttribute("aria-label", words);
    button.title = words;
    button.addEventListener("click", act);
  }
  if (state.view.ways)
    choice(tools, "rows ", state.view.ways.map(([name]) => name), state.way, does.way);
  if (state.view.cuts.length) check(tools, "clock time, pauses in full length", state.clock, does.clock);
  make("span", "Shift and wheel zoom, dragging moves; or use the keys: arrows, + and −, Enter.", tools, "quiet");
}

function choice(parent, words, names, chosen, change) {
  const select = make("select", null, make("label", words, parent));
  names.forEach((name, n) => { make("option", name, select).selected = n === chosen; });
  select.addEventListener("change", () => change(select.selectedIndex));
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

function swatch(parent, name, words, className = "swatch") {
  const entry = make("span", null, parent);
  make("span", null, entry, className).style.cssText = className === "swatch" ? `background: var(--${name})` : `border-color: var(--${name})`;
  entry.append(words);
}

// What bars mean, and the kinds of edges, each of which can be left out.
function fillLegend(legend, state, later) {
  const view = state.view, some = (values) => values?.some((v) => !Number.isNaN(v));
  legend.replaceChildren();
  const used = new Set(view.tone);
  view.tones.forEach((tone, n) => { if (used.has(n)) swatch(legend, tone, TONES[tone]); });
  if (view.recorded) swatch(legend, "recorded", "as recorded");
  if (some(view.first)) make("span", "paler start: waiting for the first token", legend, "quiet");
  if (view.due) make("span", "line before a bar: due, not sent yet", legend, "quiet");
  if (!view.links.length) return;
  edgeLegend(legend, state, later);
}

function edgeLegend(legend, state, later) {
  const view = state.view, of = (name) => Map.groupBy(view.links, (link) => link[name]);
  const known = of("evidence");
  for (const [kind, links] of of("kind")) {
    const entry = check(legend, "", !state.hidden.has(kind), (on) => { state.hidden[on ? "delete" : "add"](kind); later(); });
    if (state.colours === "kind") make("span", null, entry, "stroke").style.borderColor = `var(--${kind})`;
    entry.append(`${kind} (${links.length})`);
  }
  if (view.critical !== null && view.critical !== undefined) {
    const entry = check(legend, "", state.critical, (on) => { state.critical = on; later(); });
    make("span", null, entry, "stroke critical");
    entry.append(view.critical);
  }
  if (!known.has(null))
    choice(legend, "edges coloured by ", ["kind", "evidence"], state.colours === "kind" ? 0 : 1,
      (n) => { state.colours = ["kind", "evidence"][n]; fillLegend(legend, state, later); later(); });
  for (const name of EVIDENCE)
    if (known.has(name) && state.colours === "evidence") swatch(legend, `by-${name}`, `${name.replace("_", " ")} (${known.get(name).length})`, "stroke");
  if (!known.has(null) && state.colours === "kind")
    make("span", `known by: ${EVIDENCE.filter((n) => known.has(n)).map((n) => `${n.replace("_", " ")} ${known.get(n).length}`).join(", ")}` +
      (known.has("timing") ? " (thin: guessed)" : ""), legend, "quiet");
  if (view.links.some((link) => link.start)) make("span", "dashed: from the start, not the end", legend, "quiet");
}

function describe(view, row, panel) {
  panel.replaceChildren();
  panel.classList.toggle("held", row !== null);
  if (row === null) return make("span", "No request chosen.", panel, "quiet");
  const list = make("dl", null, panel), start = view.start[row], end = view.end[row], first = view.first[row];
  const put = (name, value) => {
    const pair = make("div", null, list);
    make("dt", name, pair);
    make("dd", value, pair);
  };
  put("lane", view.lanes[view.lane[row]][0]);
  put("start", durationWords(start));
  put("took", Number.isNaN(end) ? "unknown" : durationWords(end - start));
  if (!Number.isNaN(first)) put("first token after", durationWords(first - start));
  const { late, recorded_end: recorded } = view.sheet.bars, of = (column) => numbersOf(column)[view.from + row];
  if (late) put("sent later than due", durationWords(of(late)));
  if (recorded && !Number.isNaN(of(recorded))) put("took when recorded", durationWords(of(recorded)));
  for (const [name, unit, column] of view.sheet.details) {
    const value = unit === "text" ? word(column, view.from + row) : numbersOf(column)[view.from + row];
    if (value !== null && !Number.isNaN(value)) put(name, written(value, unit) + (unit === "tokens" ? " tokens" : ""));
  }
  const into = view.links.filter((link) => link.dst === row);
  if (!into.length) return;
  const waits = make("ul", null, panel);
  for (const link of into)
    make("li", `${linkWords(link)} (${view.lanes[view.lane[link.src]][0]}, started ${durationWords(view.start[link.src])})`, waits);
}
