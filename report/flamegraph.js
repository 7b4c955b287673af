// A session's turns as rows, as wide as their tokens: what repeats, what is new, what was answered. Agents are folded.
const PARTS = [["cached", "from cache, or could be"], ["fresh", "new in this prompt"], ["output", "answer"]];
const FLAME_ROW = 20;

function flamegraph(input, choose) {
  const node = make("div");
  make("h3", "How does the context grow, and how much of it is new? Less new is better.", node);
  const legend = make("div", null, node, "tools");
  for (const [part, words] of PARTS) swatch(legend, part, words);
  const unfold = make("button", "Unfold all", legend), note = make("p", "", node, "quiet");
  const box = make("div", null, node, "flame"), list = rolling(box, box, "div", FLAME_ROW);
  let flame = null, open = new Set(), rows = [], here = null;
  unfold.addEventListener("click", () => { flame.groups.forEach((_, lane) => open.add(lane)); fill(); });

  function show(number) {
    const given = input.views[number];
    node.hidden = given.flame === undefined;
    if (node.hidden) return;
    flame = openFlame(input, number);
    open = new Set();
    here = null;
    note.textContent = `${given.flame} The widest row is ${written(flame.widest, "tokens")} tokens.`.trim();
    unfold.hidden = !flame.groups.size;
    box.scrollTop = 0;
    fill();
  }
  function fill() {
    rows = flame.order.flatMap((row) => row >= 0 ? [row] : open.has(~row) ? [row, ...flame.groups.get(~row)] : [row]);
    list.show(rows.length, (n) => rows[n] < 0 ? group(~rows[n]) : turn(rows[n]));
    box.style.height = `${Math.min(460, rows.length * FLAME_ROW + 16)}px`;
    list.reveal(0);
  }
  function turn(row) {
    const button = make("button"), values = PARTS.map(([part]) => flame[part][row]);
    const name = `request ${flame.name[row]}`, depth = flame.lanes[flame.lane[row]][1];
    button.classList.toggle("here", row === here);
    button.style.paddingLeft = `${8 + 14 * depth}px`;
    make("span", name, button);
    const bar = make("span", null, button, "row");
    PARTS.forEach(([part], n) => { make("span", null, bar, part).style.width = `${100 * (values[n] || 0) / flame.widest}%`; });
    const prompt = values[0] + values[1];
    button.title = `prompt ${written(prompt, "tokens")} tokens, ${written(prompt ? values[0] / prompt : null, "share")} of it ` +
      `from cache, ${written(values[1], "tokens")} new; answer ${Number.isNaN(values[2]) ? "unknown" : written(values[2], "tokens")}`;
    button.setAttribute("aria-label", `${name}: ${button.title}`);
    button.addEventListener("click", () => { mark(row, button); choose(row); });
    return button;
  }
  function group(lane) {
    const [name, depth] = flame.lanes[lane], members = flame.groups.get(lane), head = make("button", null, null, "group");
    const sum = members.reduce((all, row) => all + flame.fresh[row], 0);
    head.style.paddingLeft = `${8 + 14 * (depth - 1)}px`;
    head.textContent = `${open.has(lane) ? "▾" : "▸"} ${name}: ${members.length} requests, ${written(sum, "tokens")} new prompt tokens`;
    head.setAttribute("aria-expanded", open.has(lane));
    head.addEventListener("click", () => { open[open.has(lane) ? "delete" : "add"](lane); const top = box.scrollTop; fill(); box.scrollTop = top; });
    return head;
  }
  function mark(row, button) {
    here = row;
    box.querySelectorAll(".here").forEach((other) => other.classList.remove("here"));
    button?.classList.add("here");
  }
  function flash(row, scroll = true) {
    if (node.hidden) return;
    here = row;
    if (flame.groups.has(flame.lane[row])) open.add(flame.lane[row]);
    fill();
    list.reveal(rows.indexOf(row));
    if (scroll) box.querySelector(".here")?.scrollIntoView({ block: "center" });
  }
  return { node, show, flash };
}

// Columns of one view, and its rows from the top: a request of the main agent, or ~lane for all of another agent.
function openFlame(input, number) {
  const { rows: [from, to], lanes } = input.views[number], { flame, bars, details } = input.sheet;
  const column = (packed) => numbersOf(packed).slice(from, to), prompt = column(flame.prompt), lane = column(bars.lane);
  const start = column(bars.start), cached = column(flame.cached).map((v) => v || 0), output = column(flame.output);
  const groups = new Map(), starts = [], name = column(details.find(([of]) => of === "request")?.[2] ?? []);
  for (const row of [...start.keys()].sort((a, b) => start[a] - start[b] || a - b)) {
    const mine = groups.get(lane[row]);
    if (lane[row] === 0) starts.push(row);
    else if (mine) mine.push(row);
    else { groups.set(lane[row], [row]); starts.push(~lane[row]); }
  }
  const fresh = prompt.map((tokens, row) => tokens - cached[row]);
  let widest = 1;
  prompt.forEach((tokens, row) => { widest = Math.max(widest, tokens + (output[row] || 0)); });
  return { cached, fresh, output, lane, lanes, groups, order: starts, name, widest };
}
