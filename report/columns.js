// Columns of numbers: short ones are lists, long ones lie packed in the page (see packing.py) and are opened when used.

let PACKED = null; // bytes of all packed columns
const UNPACKED = new Map();

// Numbers of a column; null is NaN.
function numbersOf(column) {
  if (Array.isArray(column)) return column.map((v) => v === null ? NaN : v);
  const [offset, count, step, divisor] = column["#"], key = `${offset}:${step}:${divisor}`;
  if (!UNPACKED.has(key)) UNPACKED.set(key, decode(offset, count, step, divisor));
  return UNPACKED.get(key);
}

function decode(offset, count, step, divisor) {
  const values = new Float64Array(count);
  let at = offset, last = 0;
  for (let n = 0; n < count; n++) {
    let byte = PACKED[at++], code = byte & 127, place = 128;
    while (byte > 127) { byte = PACKED[at++]; code += (byte & 127) * place; place *= 128; } // shifts end at 32 bits
    if (code === 0) { values[n] = NaN; continue; }
    code -= 1;
    last += code % 2 ? -(code + 1) / 2 : code / 2;
    values[n] = last * step / divisor;
  }
  return values;
}

// The word of a row, or null.
function word(column, row) {
  const at = numbersOf(column.at)[row];
  return at >= 0 ? column.words[at] : null;
}

async function inflate(node) {
  const text = atob(node.textContent), bytes = new Uint8Array(text.length);
  for (let n = 0; n < text.length; n++) bytes[n] = text.charCodeAt(n);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
}

async function openData() {
  const columns = document.getElementById("columns"), data = document.getElementById("data");
  PACKED = new Uint8Array(await (await inflate(columns)).arrayBuffer());
  return data.type === "application/json" ? JSON.parse(data.textContent) : (await inflate(data)).json();
}
