// Rows can be searched, sorted by a click on a column's name, and chosen.
const TABLE_ROW = 32;

function table(input, parent, choose) {
  make("h3", input.kind === "run" ? "Timelines" : "Sessions", parent);
  const tools = make("div", null, parent, "tools");
  const search = make("input", null, make("label", "Search ", tools));
  search.type = "search";
  const found = make("span", "", tools, "quiet");
  found.setAttribute("aria-live", "polite");
  const box = make("div", null, parent, "scroll tall"), node = make("table", null, box);
  const head = make("tr", null, make("thead", null, node)), body = make("tbody", null, node);
  const list = rolling(box, body, "tr", TABLE_ROW);
  const texts = input.rows.map((row) => row.map((value, n) => written(value, input.columns[n][1])).join(" ").toLowerCase());
  let sorted = { column: -1, down: false }, order = input.rows.map((_, number) => number), shown = order, chosen = 0;

  function mark(number) {
    chosen = number;
    for (const line of body.children) line.classList.toggle("chosen", line.dataset.row === String(number));
    const at = shown.indexOf(number);
    if (at >= 0) list.reveal(at);
  }
  function fill() {
    const wanted = search.value.trim().toLowerCase();
    shown = wanted ? order.filter((number) => texts[number].includes(wanted)) : order;
    box.scrollTop = 0;
    list.show(shown.length, (n) => tableRow(input, shown[n], chosen, choose));
    found.textContent = wanted ? `${shown.length} of ${order.length}` : "";
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
  fill();
  return mark;
}

function tableRow(input, number, chosen, choose) {
  const line = make("tr", null, null, number === chosen ? "chosen" : "");
  line.dataset.row = number;
  input.rows[number].forEach((value, column) => {
    const unit = input.columns[column][1];
    const cell = make("td", column ? written(value, unit) : null, line, unit === "text" ? "text" : "");
    if (!column) make("button", value, cell).addEventListener("click", () => choose(number));
  });
  return line;
}
