// Charts: small SVGs drawn from rows [series, x, y, facet]; a series or facet that is a number is a run, and follows the filter.
// kinds: bars, lines, points, heat, plane, and forest with rows [series, value, low, high].

const COLOURS = 8;
const ruler = document.createElement("canvas").getContext("2d");
const FONT = 12;
const CELL = 38; // narrowest cell of a heatmap that a number of three decimals fits
const SHORTEST = 130; // room that names of rows keep at least

function wide(text, size = FONT) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

function cut(text, room) {
  if (wide(text) <= room) return text;
  let kept = text.length;
  while (kept > 3 && wide(`${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`) > room) kept -= 1;
  return `${text.slice(0, Math.ceil(kept / 2))}…${text.slice(text.length - Math.floor(kept / 2))}`;
}

const nameOf = (series) => (isNumber(series) ? runs[series].short : String(series));
const titleOf = (series) => (isNumber(series) ? runs[series].label : String(series));
const shownIn = (series) => !isNumber(series) || allowed(series);

function ticksOf(low, high, count = 5) {
  const raw = (high - low || 1) / count;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * size).find((value) => value >= raw);
  const ticks = [];
  for (let tick = Math.ceil(low / step - 1e-9) * step; tick <= high + step * 1e-6; tick += step) ticks.push(Number(tick.toPrecision(12)));
  return ticks;
}

function scaleOf(values, room, { log = false, zero = false } = {}) {
  const change = log ? Math.log10 : (value) => value;
  let low = Math.min(...values);
  let high = Math.max(...values);
  if (zero) low = Math.min(0, low);
  let [from, to] = [change(low), change(high)];
  const pad = zero ? 0 : (to - from || Math.abs(to) || 1) * 0.06;
  from -= pad;
  to += zero ? (to - from || 1) * 0.04 : pad;
  const place = (value) => room[0] + ((change(value) - from) / (to - from)) * (room[1] - room[0]);
  return { place, low: from, high: to };
}

function axisTicks(values, scale, log, room) {
  if (!log) return ticksOf(scale.low, scale.high);
  const own = [...new Set(values)].sort((a, b) => a - b);
  const chosen = own.length <= 9 ? own : Array.from({ length: Math.ceil(scale.high) - Math.floor(scale.low) + 1 }, (_, at) => 10 ** (Math.floor(scale.low) + at)).filter((tick) => Math.log10(tick) >= scale.low && Math.log10(tick) <= scale.high);
  let last = -Infinity;
  return chosen.filter((tick) => {
    const at = scale.place(tick);
    if (at - last < wide(brief(tick)) + 8) return false;
    last = at;
    return at >= room[0] - 1;
  });
}

const text = (x, y, content, attributes = {}) => draw("text", { x, y, "font-size": FONT, ...attributes }, content);

function known(node, title, lines) {
  node.known = { title, lines: () => lines };
  return node;
}

function frameOf(spec, width, height, xs, ys) {
  const y = scaleOf(ys, [height - 46, 12]);
  const ticks = ticksOf(y.low, y.high);
  const left = Math.max(...ticks.map((tick) => wide(brief(tick))), 24) + 26;
  const room = [left, width - 14];
  const x = scaleOf(xs, room, { log: spec.log });
  const parts = [];
  for (const tick of ticks) {
    const at = y.place(tick);
    parts.push(draw("line", { class: "grid", x1: left, x2: width - 14, y1: at, y2: at }), text(left - 6, at + 4, brief(tick), { "text-anchor": "end" }));
  }
  for (const tick of axisTicks(xs, x, spec.log, room)) parts.push(text(x.place(tick), height - 28, brief(tick), { "text-anchor": "middle" }));
  parts.push(text((left + width) / 2, height - 8, cut(spec.x, width - left), { "text-anchor": "middle", class: "axis" }));
  parts.push(text(12, (height - 34) / 2, cut(spec.y, height - 50), { "text-anchor": "middle", class: "axis", transform: `rotate(-90 12 ${(height - 34) / 2})` }));
  return { x, y, left, parts };
}

function legendOf(series, svg) {
  return make("ul", { class: "legend" }, ...series.map((one, place) => {
    const light = (on) => svg.querySelector(`[data-series="${place}"]`)?.classList.toggle("lit", on);
    return make("li", { onmouseenter: () => light(true), onmouseleave: () => light(false), title: isNumber(one) ? runs[one].label : null }, make("span", { class: "key", style: `background:var(--c${place})` }), nameOf(one));
  }));
}

function lines(spec, all, width) {
  const height = 300;
  const every = Map.groupBy(all, (row) => row[0]);
  const most = (series) => Math.max(...every.get(series).map((row) => row[2]));
  const ordered = [...every.keys()].sort((a, b) => most(b) - most(a)).slice(0, COLOURS);
  const rows = all.filter((row) => ordered.includes(row[0]));
  const { x, y, parts } = frameOf(spec, width, height, rows.map((row) => row[1]), rows.map((row) => row[2]));
  const bySeries = Map.groupBy(rows, (row) => row[0]);
  const groups = ordered.map((series, place) => {
    const points = bySeries.get(series).toSorted((a, b) => a[1] - b[1]);
    const colour = `var(--c${place})`;
    const path = draw("path", { d: points.map((row, at) => `${at ? "L" : "M"}${x.place(row[1]).toFixed(1)} ${y.place(row[2]).toFixed(1)}`).join(""), fill: "none", stroke: colour, "stroke-width": 2 });
    const dots = points.map((row) => known(draw("circle", { cx: x.place(row[1]).toFixed(1), cy: y.place(row[2]).toFixed(1), r: 3.5, fill: colour }), titleOf(series), [[spec.x, brief(row[1])], [spec.y, fixed(row[2])]]));
    return draw("g", { class: "series", "data-series": place }, path, ...dots);
  });
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...parts, ...groups.reverse());
  return [svg, legendOf(ordered, svg), every.size > COLOURS ? make("p", { class: "soft" }, `The best ${COLOURS} of ${every.size}; the filter shows others.`) : null];
}

function points(spec, rows, width) {
  const height = 320;
  const { x, y, left, parts } = frameOf(spec, width, height, rows.map((row) => row[1]), rows.map((row) => row[2]));
  const placed = rows.toSorted((a, b) => b[2] - a[2]).map(([series, cost, value]) => ({ series, cost, value, cx: x.place(cost), cy: y.place(value), r: 5 }));
  const dots = placed.map(({ series, cost, value, cx, cy, r }) => known(draw("circle", { class: "dot", cx, cy, r, fill: "var(--c0)" }), titleOf(series), [[spec.facetValue ?? spec.x, brief(cost)], [spec.y, fixed(value)]]));
  return [draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...parts, ...dots, ...labelsOf(placed, left, width))];
}

/** Names next to their points, as many as fit right of the axis without covering a point or a name. */
function labelsOf(placed, left, width) {
  const taken = placed.map(({ cx, cy, r }) => [cx - r, cy - r, cx + r, cy + r]);
  const free = (box) => box[0] > left && box[2] < width - 2 && taken.every((other) => box[0] >= other[2] || box[2] <= other[0] || box[1] >= other[3] || box[3] <= other[1]);
  return placed.flatMap(({ series, cx, cy, r }) => {
    const name = cut(nameOf(series), 170);
    const size = wide(name);
    const start = [cx + r + 3, cx - r - 3 - size].find((first) => free([first, cy - 8, first + size, cy + 8]));
    if (start === undefined) return [];
    taken.push([start, cy - 8, start + size, cy + 8]);
    return [text(start, cy + 4, name)];
  });
}

// Rows [series, alignment, uniformity, facet, SSD, score]: SSD is the size of a point, the score its colour.
function plane(spec, rows, width) {
  const height = 360;
  const { x, y, left, parts } = frameOf(spec, width, height, rows.map((row) => row[1]), rows.map((row) => row[2]));
  const share = (place) => {
    const values = rows.map((row) => row[place]);
    const [low, high] = [Math.min(...values), Math.max(...values)];
    return (row) => (high > low ? (row[place] - low) / (high - low) : 0.5);
  };
  const [size, colour] = [share(4), share(5)];
  const placed = rows.map((row) => ({ series: row[0], row, cx: x.place(row[1]), cy: y.place(row[2]), r: 5 + 9 * size(row) })).toSorted((a, b) => b.r - a.r);
  const dots = placed.map(({ series, row, cx, cy, r }) => known(
    draw("circle", { class: "dot shaded", cx, cy, r, style: `--shade:${Math.round(15 + 85 * colour(row))}%` }), titleOf(series),
    [[spec.x, fixed(row[1])], [spec.y, fixed(row[2])], ["SSD / log d", fixed(row[4])], ["Main score", fixed(row[5])]]));
  return [draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...parts, ...dots, ...labelsOf(placed, left, width))];
}

function rowNames(names, width, wanted = 0) {
  const longest = Math.max(...names.map((name) => wide(name)));
  return Math.min(longest + 10, Math.max(SHORTEST, Math.min(width * 0.42, width - wanted)));
}

function bars(spec, rows, width) {
  const bySeries = Map.groupBy(rows, (row) => row[0]);
  const sides = [...new Set(rows.map((row) => row[1]))];
  const left = rowNames([...bySeries.keys()].map(nameOf), width);
  const room = 92;
  const scale = scaleOf(rows.flatMap((row) => [row[2], row[4] ?? row[2]]), [left, width - room], { zero: true });
  const step = 14 * sides.length + 10;
  const height = bySeries.size * step + 6;
  const parts = [...bySeries].flatMap(([series, own], place) => {
    const top = place * step + 4;
    const first = own[0][2];
    const title = titleOf(series);
    const drawn = own.flatMap(([, side, value, low, high], at) => { // low and high: the interval, where it is known
      const change = at && first ? ` (${signed(100 * (value / first - 1), 0)}%)` : "";
      const y = top + 14 * at + 6;
      const sure = isNumber(low) ? [draw("line", { class: "sure", x1: scale.place(low), x2: scale.place(high), y1: y, y2: y })] : [];
      const lines = [[`${spec.y}, ${side}`, fixed(value)], ...(isNumber(low) ? [["95% interval", intervalText([low, high])]] : [])];
      const bar = draw("rect", { x: left, y: top + 14 * at, width: Math.max(1, scale.place(value) - left), height: 12, rx: 2, fill: `var(--c${sides.indexOf(side)})` });
      return [known(bar, title, lines), ...sure, text(Math.max(left, scale.place(high ?? value)) + 5, top + 14 * at + 10, `${fixed(value, 3)}${change}`)];
    });
    return [text(left - 6, top + 7 * sides.length + 3, cut(nameOf(series), left - 10), { "text-anchor": "end" }), ...drawn];
  });
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...parts);
  const keys = make("ul", { class: "legend" }, ...sides.map((side, place) => make("li", {}, make("span", { class: "key", style: `background:var(--c${place})` }), side)));
  return [svg, keys];
}

const MOST = 10;

function forest(spec, every, width) {
  const rows = every.slice(0, MOST);
  const left = rowNames(rows.map((row) => nameOf(row[0])), width);
  const ends = rows.flatMap((row) => [row[1], row[2] ?? row[1], row[3] ?? row[1]]);
  const scale = scaleOf(ends, [left + 8, width - 56]);
  const height = rows.length * 22 + 34;
  const ticks = ticksOf(scale.low, scale.high).filter((tick) => scale.place(tick) >= left && scale.place(tick) < width - 50);
  const grid = ticks.flatMap((tick) => [draw("line", { class: "grid", x1: scale.place(tick), x2: scale.place(tick), y1: 4, y2: height - 28 }), text(scale.place(tick), height - 12, brief(tick), { "text-anchor": "middle" })]);
  const parts = rows.flatMap(([series, value, low, high], place) => {
    const y = place * 22 + 15;
    const title = titleOf(series);
    const interval = isNumber(low) ? [draw("line", { class: "interval", x1: scale.place(low), x2: scale.place(high), y1: y, y2: y })] : [];
    const dot = known(draw("circle", { class: "dot", cx: scale.place(value), cy: y, r: 5, fill: "var(--c0)" }), title, [[spec.y, fixed(value)], ["95% interval", isNumber(low) ? `${fixed(low)} to ${fixed(high)}` : "not known"]]);
    return [text(left - 6, y + 4, cut(nameOf(series), left - 10), { "text-anchor": "end" }), ...interval, dot, text(width - 4, y + 4, fixed(value), { "text-anchor": "end" })];
  });
  return [draw("svg", { viewBox: `0 0 ${width} ${height}`, width, height }, ...grid, ...parts), every.length > MOST ? make("p", { class: "soft" }, `The best ${MOST} of ${every.length} models.`) : null];
}

/** A heatmap: names give way to columns, and only where both have no room the chart is wider than its box. */
function heat(spec, rows, width) {
  const series = [...new Set(rows.map((row) => row[0]))];
  const columns = [...new Set(rows.map((row) => row[1]))];
  const cells = new Map(rows.map((row) => [`${series.indexOf(row[0])} ${columns.indexOf(row[1])}`, row]));
  const coloured = rows.filter((row) => !row[4]).map((row) => row[2]); // row[4]: on too little data
  const [low, high] = [Math.min(...coloured), Math.max(...coloured)];
  const heads = columns.map((column) => cut(String(column), 130));
  const widest = Math.max(...heads.map((head) => wide(head)));
  const beyond = Math.max(0, ...heads.map((head, at) => wide(head) * Math.SQRT1_2 + FONT - CELL * (columns.length - at - 0.5)));
  const left = rowNames(series.map(nameOf), width, CELL * columns.length + beyond + 4);
  const upright = (width - left - 4) / columns.length >= widest + 4;
  const lean = upright ? 0 : beyond;
  const size = Math.max(CELL, (width - left - 4 - lean) / columns.length);
  const across = left + size * columns.length + 4 + lean;
  const top = upright ? 24 : widest * Math.SQRT1_2 + 22;
  const step = 21;
  const height = top + series.length * step + 4;
  const digits = spec.y === "rank" ? 1 : 3;
  const parts = heads.map((head, at) => {
    const x = left + size * (at + 0.5);
    const turned = { transform: `rotate(-45 ${x} ${top - 8})` };
    return known(text(x, top - 8, head, upright ? { "text-anchor": "middle" } : turned), String(columns[at]), []);
  });
  series.forEach((one, row) => {
    parts.push(text(left - 6, top + row * step + 15, cut(nameOf(one), left - 10), { "text-anchor": "end" }));
    columns.forEach((column, at) => {
      const [, , value, , small] = cells.get(`${row} ${at}`) ?? [];
      const plain = value === undefined || small;
      const share = plain ? 0 : (value - low) / (high - low || 1);
      const strength = spec.lower ? 1 - share : share;
      const box = draw("rect", { x: left + size * at + 1, y: top + row * step + 1, width: size - 2, height: step - 2, rx: 3, class: "heat", style: `--shade:${plain ? 0 : Math.round(6 + 52 * strength)}%` });
      parts.push(value === undefined ? box : known(box, titleOf(one), [[String(column), fixed(value, digits + 1)]]));
      parts.push(text(left + size * (at + 0.5), top + row * step + 15, value === undefined ? DASH : `${fixed(value, digits)}${small ? "†" : ""}`, { "text-anchor": "middle" }));
    });
  });
  return [draw("svg", { viewBox: `0 0 ${across} ${height}`, width: across, height }, ...parts)];
}

const KINDS = { bars, lines, points, heat, forest, plane };

// The keyboard scrolls what is wider than its place.
function reach(holder) {
  if (holder.scrollWidth > holder.clientWidth) holder.tabIndex = 0;
  else holder.removeAttribute("tabindex");
}

const reachAll = () => document.querySelectorAll(".canvas").forEach(reach);
document.addEventListener("toggle", reachAll, true);

function chart(spec) {
  const state = { facet: null };
  const holder = make("div", { class: "canvas", role: "group", "aria-label": spec.title });
  const caption = make("figcaption", {});
  const facets = spec.facet ? [...new Set(spec.rows.map((row) => row[3]))] : [];
  const control = facets.length > 1 ? make("label", { class: "facet" }, `${spec.facet === "what" ? "Cost" : spec.facet[0].toUpperCase() + spec.facet.slice(1)} `, choice(`of ${spec.title}`, facets.map((facet, at) => [String(at), nameOf(facet)]), "0", (value) => { state.facet = facets[Number(value)]; paint(); })) : null;
  state.facet = facets[Number(kept(`of ${spec.title}`, "0"))] ?? facets[0] ?? null;

  function paint() {
    const shown = spec.rows.filter((row) => shownIn(row[0]) && (!facets.length || row[3] === state.facet));
    const room = Math.max(280, holder.clientWidth || 560);
    const finding = spec.findings?.[facets.length ? String(state.facet) : ""];
    caption.replaceChildren(...(finding ? [finding, make("small", {}, spec.title)] : [spec.title]));
    const facetValue = spec.facet === "what" ? String(state.facet) : undefined;
    const named = facetValue ? { ...spec, x: facetValue, facetValue } : spec;
    const content = shown.length ? KINDS[spec.kind](named, shown, room).filter(Boolean) : [make("p", { class: "missing" }, "No model fits the filter.")];
    for (const node of content) if (node instanceof SVGElement) fill(node, { role: "img", "aria-label": spec.title }, []);
    holder.replaceChildren(...content);
    reach(holder);
  }
  const figure = make("figure", {}, make("div", { class: "caption" }, caption, control), holder, spec.note ? make("p", { class: "soft" }, spec.note) : null);
  paint();
  let width = 0;
  new ResizeObserver((entries) => {
    const now = Math.round(entries[0].contentRect.width);
    if (now && now !== width) {
      width = now;
      requestAnimationFrame(paint);
    }
  }).observe(holder);
  followFilter(() => { if (figure.isConnected) paint(); });
  return figure;
}
