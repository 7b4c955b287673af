// One view of a sheet as the drawing and the keys need it: rows counted from 0, times from the view's own zero.

function openView(input, number, way) {
  const given = input.views[number], sheet = input.sheet, [from, to] = given.rows;
  const bars = sheet.bars, column = (packed) => numbersOf(packed).slice(from, to);
  const start = column(bars.start), zero = given.zero[0];
  const moment = (packed) => column(packed).map((after, row) => start[row] + after);
  const view = {
    label: given.label, note: given.note, count: to - from, from, critical: given.critical, sheet,
    ways: given.ways, lanes: given.lanes ?? given.ways[way][1],
    lane: given.lanes ? column(bars.lane) : numbersOf(given.ways[way][2]),
    tones: bars.tone.words, tone: column(bars.tone.at),
    start: start.map((t) => t - zero), first: moment(bars.first), end: moment(bars.end), due: null,
    recorded: null, recordedEnd: null, axis: given.axis, cuts: given.cuts,
  };
  for (const name of ["first", "end"]) view[name] = view[name].map((t) => t - zero);
  if (bars.late) view.due = column(bars.late).map((late, row) => view.start[row] - late);
  if (bars.recorded && !given.ways) {
    view.recorded = column(bars.recorded).map((t) => t - given.zero[1]);
    view.recordedEnd = column(bars.recorded_end).map((t, row) => view.recorded[row] + t);
  }
  view.path = pathOf(sheet, view, from, to);
  view.links = linksOf(sheet, given.links, from);
  view.order = [...view.start.keys()].sort((a, b) => view.start[a] - view.start[b] || a - b);
  view.byLane = view.lanes.map(() => []);
  for (const row of view.order) view.byLane[view.lane[row]].push(row);
  return view;
}

// Rows on the critical path, in order.
function pathOf(sheet, view, from, to) {
  if (!view.critical) return [];
  const on = numbersOf(sheet.critical).slice(from, to);
  return [...on.keys()].filter((row) => on[row]).sort((a, b) => view.start[a] - view.start[b] || a - b);
}

function linksOf({ links, bars }, [from, to], first) {
  const dst = numbersOf(links.dst), back = numbersOf(links.back), start = numbersOf(links.start), shorter = numbersOf(links.delay);
  const begun = numbersOf(bars.recorded ?? bars.start), took = numbersOf(bars.recorded_end ?? bars.end), found = [];
  for (let n = from; n < to; n++) {
    const src = dst[n] - back[n], since = begun[src] + (start[n] ? 0 : took[src]);
    found.push({ src: src - first, dst: dst[n] - first, kind: word(links.kind, n), start: start[n] === 1,
      delay: (Number.isNaN(since) ? 0 : begun[dst[n]] - since) - shorter[n], evidence: word(links.evidence, n) });
  }
  return found;
}

const linkWords = (link) => Number.isNaN(link.delay) ? `${link.kind}: the same body again`
  : `${link.kind}: ${durationWords(link.delay)} after its ${link.start ? "start" : "end"}` +
    (link.evidence ? `, known by ${link.evidence.replace("_", " ")}` : "");

// Time -> 0..1 and back. Idle stretches are shortened, or run with the clock when asked.
function scaleOf(view, clock) {
  const [first, last, drawn] = view.axis, times = [first], places = [0];
  for (const [start, stop] of clock ? [] : view.cuts) {
    const before = places.at(-1) + start - times.at(-1);
    times.push(start, stop);
    places.push(before, before + drawn);
  }
  places.push(places.at(-1) + last - times.at(-1));
  times.push(last);
  const length = places.at(-1) || 1;
  return {
    at: (t) => between(times, places, t) / length,
    time: (share) => between(places, times, share * length),
  };
}

// Straight lines between (from, to), both rising; beyond the ends the last line goes on.
function between(from, to, value) {
  let low = 1, high = from.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (from[middle] < value) low = middle + 1; else high = middle;
  }
  const width = from[low] - from[low - 1];
  return width > 0 ? to[low - 1] + (value - from[low - 1]) / width * (to[low] - to[low - 1]) : to[low];
}
