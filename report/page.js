// Builds the page from its data: a section for each input, with numbers, charts, a table, and drawings of the chosen row.
const KINDS = { comparison: "All runs of this page.", sessions: "Sessions: sizes, shapes and times, no text.", run: "A replay against an inference server.",
  calibration: "A calibration: how near local token counts come to the provider's.",
  captures: "Captures: what the recorder heard. Ids stand as the client sent them: do not publish." };

function section(input, index) {
  const node = make("section", null, document.getElementById("report"));
  node.id = `input-${index + 1}`;
  if (input.kind === "comparison") document.getElementById("report").prepend(node); // what is last in the data stands first
  make("h2", input.title, node);
  make("p", KINDS[input.kind], node, "kind");
  facts(input, node);
  numbers(input, node);
  if (input.notes.length) {
    const list = make("ul", null, node, "notes");
    for (const note of input.notes) make("li", note, list);
  }
  if (input.spreads) spreads(input.spreads, node);
  for (const [words, given] of input.charts) charts(given, node, words, `input-${index + 1}`);
  const link = make("a", input.title, document.getElementById("contents"));
  link.href = `#${node.id}`;
  if (!input.rows.length) return;
  rows(input, index, node);
}

// The table and the drawings of the chosen row; what is chosen stands in the address, so it can be sent to someone.
function rows(input, index, node) {
  let chosen = 0;
  const address = (turn) => history.pushState(null, "", `#input-${index + 1}&s=${chosen + 1}${turn === null ? "" : `&t=${turn}`}`);
  const go = (number, turn = null) => { show(number, turn); address(turn); };
  const mark = table(input, node, go);
  const lanes = timeline(input, (row) => {
    if (input.views[chosen].ways) return go(...placeOf(input, row));
    flames?.flash(row);
    address(row);
  });
  const flames = input.sheet.flame ? flamegraph(input, (turn) => { lanes.point(turn); address(turn); }) : null;
  node.append(lanes.node);
  if (flames) node.append(flames.node);
  function show(number, turn) {
    chosen = number;
    mark(number);
    lanes.show(number);
    flames?.show(number);
    if (turn === null) return;
    lanes.point(turn);
    flames?.flash(turn, input.kind === "sessions");
    if (input.kind !== "sessions") lanes.node.scrollIntoView();
  }
  show(input.opened ?? 0, null);
  OPEN[index] = show;
}

// The view whose stretch of the sheet holds a row, and the row's place in it; the first view holds all.
function placeOf(input, row) {
  let low = 1, high = input.views.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (input.views[middle].rows[1] <= row) low = middle + 1; else high = middle;
  }
  return [low, row - input.views[low].rows[0]];
}

const OPEN = []; // by input: opens a row, and a turn in it

// #input-1&s=3&t=17: the third row of the first input, its request 17.
function followAddress() {
  const found = /^#input-(\d+)&s=(\d+)(?:&t=(\d+))?$/.exec(location.hash);
  if (!found) return;
  const [index, row] = [found[1] - 1, found[2] - 1], turn = found[3] === undefined ? null : Number(found[3]);
  if (!DATA[index]?.views[row] || turn !== null && !(turn < DATA[index].views[row].rows[1] - DATA[index].views[row].rows[0])) return;
  if (turn === null) document.getElementById(`input-${index + 1}`).scrollIntoView();
  OPEN[index](row, turn);
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

let DATA = [], drawnAfter = null; // milliseconds since the page was asked for

openData().then((data) => {
  DATA = data;
  DATA.forEach(section);
  addEventListener("popstate", followAddress);
  followAddress();
  document.documentElement.dataset.drawn = "yes";
  requestAnimationFrame(() => requestAnimationFrame(() => { drawnAfter = performance.now(); }));
});
