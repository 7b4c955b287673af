// A session's turns as rows, as wide as their tokens: what repeats, what is new, what was answered. Agents are folded.
const PARTS = [["cached", "repeats an earlier prompt: a cache could serve it"], ["fresh", "new in this prompt"],
  ["output", "answer"]];

function flamegraph(choose) {
  const node = make("div");
  make("h3", "How does the context grow, and how much of it is new? Less new is better.", node);
  const legend = make("div", null, node, "tools");
  for (const [part, words] of PARTS) {
    const entry = make("span", null, legend);
    make("span", null, entry, "swatch").style.background = `var(--${part})`;
    entry.append(words);
  }
  const unfold = make("button", "Unfold all", legend), note = make("p", "", node, "quiet"), box = make("div", null, node, "flame");
  let rows = [], folds = [];
  unfold.addEventListener("click", () => folds.forEach((fold) => fold(true)));

  function show(view) {
    const flame = view.flame;
    const widest = flame.cached.reduce((most, _, n) => Math.max(most, total(flame, n)), 1);
    rows = [];
    folds = [];
    box.replaceChildren();
    box.scrollTop = 0;
    note.textContent = `${flame.note} The widest row is ${written(widest, "tokens")} tokens.`.trim();
    unfold.hidden = !flame.groups.length;
    for (const row of flame.order)
      if (row >= 0) turn(flame, row, widest, box); else group(flame, ~row, widest);
  }
  function turn(flame, request, widest, parent) {
    const button = make("button", null, parent), values = PARTS.map(([part]) => flame[part][request]);
    make("span", `request ${request}`, button);
    const bar = make("span", null, button, "row");
    PARTS.forEach(([part], n) => { make("span", null, bar, part).style.width = `${100 * (values[n] ?? 0) / widest}%`; });
    const prompt = values[0] + values[1], repeated = prompt ? values[0] / prompt : null;
    button.title = `prompt ${written(prompt, "tokens")} tokens, ${written(repeated, "share")} of it repeats, ` +
      `${written(values[1], "tokens")} new; answer ${written(values[2], "tokens")}`;
    button.setAttribute("aria-label", `request ${request}: ${button.title}`);
    button.addEventListener("click", () => { here(button); choose(request); });
    return rows[request] = { button };
  }
  function group(flame, number, widest) {
    const [name, depth, members] = flame.groups[number], sum = members.reduce((all, n) => all + flame.fresh[n], 0);
    const holder = make("div", null, box), head = make("button", null, holder, "group"), turns = make("div", null, holder, "turns");
    holder.style.marginLeft = `${(depth - 1) * 14}px`;
    const fold = (open) => {
      turns.hidden = !open;
      head.textContent = `${open ? "▾" : "▸"} ${name}: ${members.length} requests, ${written(sum, "tokens")} new prompt tokens`;
      head.setAttribute("aria-expanded", open);
      if (open && !turns.children.length) for (const request of members) turn(flame, request, widest, turns);
    };
    fold(false);
    folds.push(fold);
    head.addEventListener("click", () => fold(turns.hidden));
    for (const request of members) rows[request] = { fold };
  }
  function here(button) {
    box.querySelectorAll(".here").forEach((other) => other.classList.remove("here"));
    button.classList.add("here");
  }
  function flash(request) {
    rows[request]?.fold?.(true);
    const button = rows[request]?.button;
    if (!button) return;
    here(button);
    button.scrollIntoView({ block: "center" });
  }
  return { node, show, flash };
}

const total = (flame, n) => flame.cached[n] + flame.fresh[n] + (flame.output[n] ?? 0);
