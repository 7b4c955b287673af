// Elements, and numbers as people read them.
"use strict";

function make(name, content, parent, className) {
  const node = document.createElement(name);
  if (content !== undefined && content !== null) node.append(content);
  if (className) node.className = className;
  parent?.append(node);
  return node;
}

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });

function durationWords(us) {
  const s = us / 1e6;
  if (s < 0) return "-" + durationWords(-us);
  if (s === 0) return "0 s";
  if (s < 0.001) return `${Math.round(us)} µs`;
  if (s < 1) return `${grouped.format(us / 1000)} ms`;
  if (s < 60) return `${grouped.format(s)} s`;
  const whole = Math.round(s);
  for (const [size, unit, small, smallUnit] of [[86400, "d", 3600, "h"], [3600, "h", 60, "min"], [60, "min", 1, "s"]])
    if (whole >= size) {
      const rest = Math.floor(whole % size / small);
      return `${Math.floor(whole / size)} ${unit}` + (rest ? ` ${rest} ${smallUnit}` : "");
    }
}

function bytesWords(n) {
  for (const [size, unit] of [[1 << 30, "GiB"], [1 << 20, "MiB"], [1024, "KiB"]])
    if (n >= size) return `${grouped.format(Math.round(n / size * 10) / 10)} ${unit}`;
  return `${n} B`;
}

const WRITE = {
  text: (v) => v,
  number: (v) => grouped.format(v),
  tokens: (v) => grouped.format(v),
  bytes: bytesWords,
  us: durationWords,
  ms: (v) => `${grouped.format(v)} ms`,
  share: (v) => `${(100 * v).toFixed(1)} %`,
};
const written = (value, unit) => value === null ? "–" : WRITE[unit](value);
