// Axes of charts: the range of what is shown, round numbers that have room beside each other, and their words.

const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const AXIS = {
  number: (v) => COMPACT.format(v), tokens: (v) => COMPACT.format(v), tps: (v) => COMPACT.format(v),
  us: durationWords, share: (v) => `${Number((100 * v).toPrecision(3))} %`, ratio: (v) => Number(v.toPrecision(4)).toString(),
};
const WHOLE_UNITS = new Set(["number", "tokens"]);
const NICE_US = STEPS_S.map((s) => s * 1e6);
const LOG_US = [1e3, 1e4, 1e5, 1e6, 1e7, 6e7, 6e8, 36e8, 36e9, 864e8, 6048e8, 1, 10, 100];

const EXTENTS = new WeakMap(); // columns do not change

function extent(values) {
  if (EXTENTS.has(values)) return EXTENTS.get(values);
  let low = Infinity, high = -Infinity;
  for (const value of values) { if (value < low) low = value; if (value > high) high = value; }
  EXTENTS.set(values, low <= high ? [low, high] : []);
  return EXTENTS.get(values);
}

function rangeOf(values, [, , log]) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!values.length) [low, high] = log ? [1, 10] : [0, 1];
  if (log) low = Math.max(low, 0.5);
  if (high <= low) high = log ? low * 2 : low + 1;
  return [low, high];
}

// Round values between low and high that stand `apart` pixels or more from each other on an axis of this length.
function ticksOf(low, high, [, unit, log], length, apart) {
  if (!log || high / low < 5) return linearTicks(low, high, unit, Math.max(2, Math.floor(length / apart)));
  const at = (v) => (Math.log10(v) - Math.log10(low)) / (Math.log10(high) - Math.log10(low)) * length, found = [];
  for (const ticks of unit === "us" ? [LOG_US, ...roundLogs()] : roundLogs()) {
    if (ticks !== LOG_US && unit === "us" && found.length > 2) break;
    for (const v of ticks)
      if (v >= low && v <= high && (v >= 1 || !WHOLE_UNITS.has(unit)) && found.every((other) => Math.abs(at(v) - at(other)) >= apart * 0.8)) found.push(v);
  }
  return found.sort((a, b) => a - b);
}

function roundLogs() {
  const tries = [[], [], [], [], [], []];
  for (let power = 1e-6; power < 1e15; power *= 10) [1, 2, 5, 3, 7, 1.5].forEach((by, n) => tries[n].push(Number((power * by).toPrecision(3))));
  return tries;
}

function linearTicks(low, high, unit, most) {
  const rough = (high - low) / most, power = 10 ** Math.floor(Math.log10(rough));
  let step = power * [1, 2, 5, 10].find((by) => power * by >= rough * 0.999);
  if (unit === "us" && rough > 1e5) step = NICE_US.find((nice) => nice >= rough) ?? Math.ceil(rough / 864e8) * 864e8;
  if (WHOLE_UNITS.has(unit)) step = Math.max(1, step);
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + step * 1e-9; n++) ticks.push(Number((n * step).toPrecision(12)));
  return ticks;
}
