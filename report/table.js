// Rows can be searched, sorted by a click on a column's name, and chosen.
function table(input, parent, choose) {
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

  function mark(number) {
    lines.forEach((line, other) => line.classList.toggle("chosen", other === number));
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
  fill();
  return mark;
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
