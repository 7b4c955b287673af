// What is drawn between the axes of a chart, and what is said of it where the cursor stands.

const MARKS = new Set(["marks", "rings"]);

function paintSeries(u, series) {
  const pen = u.ctx, { left, top, width, height } = u.bbox;
  pen.save();
  pen.beginPath();
  pen.rect(left - 4, top - 4, width + 8, height + 8);
  pen.clip();
  pen.fillStyle = pen.strokeStyle = ink(series.paint);
  pen.lineWidth = 2 * uPlot.pxRatio;
  pen.lineJoin = "round";
  PAINT[series.shape]?.(pen, series, pixelOf(u.scales.x, left, width), pixelOf(u.scales.y, top + height, -height), top + height, u);
  pen.restore();
}

// As u.valToPos, without its looking up what stays the same.
function pixelOf({ min, max, distr }, from, length) {
  if (distr !== 3) { const slope = length / (max - min); return (v) => from + (v - min) * slope; }
  const low = Math.log10(min), slope = length / (Math.log10(max) - low);
  return (v) => from + (Math.log10(v > 0 ? v : min) - low) * slope;
}

const PAINT = {
  bars(pen, { x, y }, atX, atY, floor) { // x has one edge more than y
    for (let n = 0; n < y.length; n++) {
      if (!y[n]) continue;
      const left = atX(x[n]), height = Math.max(1, floor - atY(y[n])); // one of many is seen too
      pen.fillRect(left, floor - height, Math.max(1, atX(x[n + 1]) - left - 1), height);
    }
  },
  outline(pen, { x, y }, atX, atY, floor) {
    pen.beginPath();
    pen.moveTo(atX(x[0]), floor);
    for (let n = 0; n < y.length; n++) { pen.lineTo(atX(x[n]), atY(y[n])); pen.lineTo(atX(x[n + 1]), atY(y[n])); }
    pen.lineTo(atX(x[y.length]), floor);
    pen.stroke();
  },
  dots(pen, { x, y, paint }, atX, atY, floor, u) {
    if (x.length > 5000) return cloud(pen, x, y, paint, atX, atY, u.bbox);
    const size = Math.round((x.length > 500 ? 4 : 6) * uPlot.pxRatio), half = size / 2;
    pen.globalAlpha = 0.7;
    for (let n = 0; n < x.length; n++) pen.fillRect(Math.round(atX(x[n]) - half), Math.round(atY(y[n]) - half), size, size);
  },
  line(pen, { x, y }, atX, atY) {
    pen.beginPath();
    for (let n = 0; n < x.length; n++) if (!Number.isNaN(y[n])) pen.lineTo(atX(x[n]), atY(y[n]));
    pen.stroke();
  },
  steps(pen, { x, y }, atX, atY) { // of all that falls on one column of pixels, the first, the extremes and the last
    pen.beginPath();
    let column = -1, low = 0, high = 0, last = null;
    for (let n = 0; n < x.length; n++) {
      const left = Math.round(atX(x[n])), top = atY(y[n]);
      if (left === column) { low = Math.max(low, top); high = Math.min(high, top); last = top; continue; }
      if (last !== null) { pen.lineTo(column, low); pen.lineTo(column, high); pen.lineTo(column, last); pen.lineTo(left, last); }
      pen.lineTo(left, top);
      [column, low, high, last] = [left, top, top, top];
    }
    if (last !== null) { pen.lineTo(column, low); pen.lineTo(column, high); pen.lineTo(column, last); }
    pen.stroke();
  },
  bands(pen, { x, y, base }, atX, atY) {
    pen.globalAlpha = 0.75;
    pen.beginPath();
    for (let n = 0; n < x.length; n++) pen.lineTo(atX(x[n]), atY(y[n]));
    for (let n = x.length - 1; n >= 0; n--) pen.lineTo(atX(x[n]), atY(base[n]));
    pen.fill();
  },
};

// Very many dots, set pixel by pixel in an image of their own, two by two.
function cloud(pen, x, y, paint, atX, atY, { left, top, width, height }) {
  const wide = Math.ceil(width) + 8, high = Math.ceil(height) + 8, image = new ImageData(wide, high);
  const pixels = new Uint32Array(image.data.buffer), [red, green, blue] = ink(paint).match(/\d+/g).map(Number);
  const colour = (190 << 24 | blue << 16 | green << 8 | red) >>> 0; // little endian, as all that run browsers
  for (let n = 0; n < x.length; n++) {
    const column = Math.round(atX(x[n]) - left) + 3, row = Math.round(atY(y[n]) - top) + 3;
    if (column < 0 || row < 0 || column >= wide - 1 || row >= high - 1) continue;
    const at = row * wide + column;
    pixels[at] = pixels[at + 1] = pixels[at + wide] = pixels[at + wide + 1] = colour;
  }
  const canvas = new OffscreenCanvas(wide, high);
  canvas.getContext("2d").putImageData(image, 0, 0);
  pen.drawImage(canvas, Math.round(left) - 4, Math.round(top) - 4);
}

// Things compared are buttons in the plot; a click shows what each is, and leads to it.
function placeMarks(u, spec, shown) {
  u.over.querySelectorAll(".point, .name").forEach((old) => old.remove());
  for (const series of shown.filter((s) => MARKS.has(s.shape)))
    series.words.forEach((words, n) => {
      const left = u.valToPos(series.x[n], "x"), top = u.valToPos(series.y[n], "y");
      const button = make("button", null, u.over, `point ${series.shape}`);
      button.style.left = `${left}px`;
      button.style.top = `${top}px`;
      button.style.color = `var(--${series.paint})`;
      button.setAttribute("aria-label", `${words}: ${AXIS[spec.y[1]](series.y[n])}, ${AXIS[spec.x[1]](series.x[n])}`);
      button.title = words;
      let name = null;
      button.addEventListener("mousedown", (event) => event.stopPropagation()); // not the start of a zoom
      button.addEventListener("click", () => {
        if (name) { name.remove(); name = null; return; }
        name = make("a", words, u.over, "name");
        name.href = series.links?.[n] ?? "#";
        name.addEventListener("mousedown", (event) => event.stopPropagation());
        name.style.top = `${top < 30 ? top + 8 : top - 30}px`;
        name.style.left = `${Math.max(0, Math.min(left + 8, u.over.clientWidth - name.offsetWidth))}px`;
      });
    });
}

function saidAt(u, spec, shown) {
  const { left, top } = u.cursor, at = u.posToVal(left, "x");
  const said = shown.map((s) => s.shape === "bars" || s.shape === "outline" ? saidBin(spec, s, at, shown) : saidNearest(u, spec, s, left, top));
  const found = said.filter(Boolean).join("; ");
  return spec.linked && found ? `${AXIS[spec.x[1]](at)}: ${found}` : found;
}

function saidBin(spec, series, at, shown) {
  const bin = series.y.findIndex((_, n) => at >= series.x[n] && at < series.x[n + 1]);
  if (bin < 0) return "";
  const name = shown.length > 1 && series.name ? `${series.name}: ` : "", height = AXIS[spec.y[1]](series.y[bin]);
  if (spec.linked) return name + height;
  const write = AXIS[spec.x[1]], sum = (values) => values.reduce((total, v) => total + v, 0);
  const below = sum(series.y.slice(0, bin + 1)) / (sum(series.y) || 1);
  return `${name}${write(Math.max(0, series.x[bin]))} to ${write(series.x[bin + 1])}: ${height}, ${Math.round(1000 * below) / 10} % of those drawn up to here`;
}

// On a common axis of time, rising: of steps the value that holds, of others the nearest one.
function saidNearest(u, spec, series, left, top) {
  const best = spec.linked ? nearestInTime(u, series, left) : nearestPlace(u, series, left, top);
  if (best < 0) return "";
  const value = AXIS[spec.y[1]](series.y[best] - (series.base?.[best] ?? 0));
  const name = series.name ? `${series.name}: ` : "";
  return spec.linked ? name + value : `${name}${value} at ${AXIS[spec.x[1]](series.x[best])}`;
}

function nearestInTime(u, { x, shape }, left) {
  const at = u.posToVal(left, "x");
  let low = 0, high = x.length;
  while (low < high) { const middle = (low + high) >> 1; if (x[middle] <= at) low = middle + 1; else high = middle; }
  if (shape === "steps") return low - 1;
  const best = low === x.length || low && at - x[low - 1] < x[low] - at ? low - 1 : low;
  return shape !== "dots" || Math.abs(u.valToPos(x[best], "x") - left) < 30 ? best : -1;
}

function nearestPlace(u, series, left, top) {
  const loose = series.shape === "dots" || MARKS.has(series.shape);
  let best = -1, least = loose ? 900 : Infinity;
  for (let n = 0; n < series.x.length; n++) {
    const across = u.valToPos(series.x[n], "x") - left, down = loose ? u.valToPos(series.y[n], "y") - top : 0;
    const far = across * across + down * down;
    if (far < least) { least = far; best = n; }
  }
  return best;
}
