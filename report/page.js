// Builds the page from its data: a section for each input, with numbers, charts, a table, and drawings of the chosen row.
const KINDS = { sessions: "Sessions: sizes, shapes and times, no text.", run: "A replay against an inference server.",
  captures: "Captures: what the recorder heard. Ids stand as the client sent them: do not publish." };

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
  for (const [words, given] of input.charts) charts(given, node, words);
  const link = make("a", input.title, document.getElementById("contents"));
  link.href = `#${node.id}`;
  if (!input.rows.length) return;
  const chart = timeline(input);
  table(input, node, chart.show);
  node.append(chart.node);
  chart.show(input.opened ?? 0);
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

JSON.parse(document.getElementById("data").textContent).forEach(section);
