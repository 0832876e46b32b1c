// Tables: built as nodes (text is text), then sorted, searched, chosen from and saved by DataTables.
// columns {title, group, hint, numeric, marked, digits, unit, hidden}; rows {run, search, block, emphasised, cells: [{value, text, beneath, below, behind, ranked, tied, bar, known}]}

const order = DataTable.ext.type.order;
const missingLast = (direction) => (a, b) => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
  return direction * (a - b);
};
order["score-pre"] = (value) => (value === "" || value === null ? Number.NaN : Number(value));
order["score-asc"] = missingLast(1);
order["score-desc"] = missingLast(-1);

function marksOf(rows, columns) {
  return columns.map((column, place) => {
    if (!column.numeric || !column.marked) return () => "";
    const digits = column.digits ?? 4;
    const blocks = new Map();
    const value = (row) => {
      const cell = row.cells[place];
      return cell && isNumber(cell.value) && cell.ranked !== false ? rounded(cell.value, digits) : null;
    };
    for (const row of rows) {
      const own = value(row);
      if (own === null) continue;
      if (!blocks.has(row.block)) blocks.set(row.block, []);
      blocks.get(row.block).push(own);
    }
    for (const [block, values] of blocks) blocks.set(block, values.length < 2 ? [] : [...new Set(values)].sort((a, b) => (column.lower ? a - b : b - a)));
    return (row) => {
      const own = value(row);
      return own === null ? "" : ["best", "second"][blocks.get(row.block).indexOf(own)] ?? "";
    };
  });
}

function cellNode(cell, column, first, mark) {
  const value = cell.value ?? null;
  const text = value === null ? cell.missing || DASH : cell.text ?? (column.numeric ? fixed(value, column.digits) + (column.unit ?? "") : String(value));
  const classes = [column.numeric && "number", mark, value === null && "missing", cell.tied && "tied", first && "name"].filter(Boolean).join(" ");
  const node = make(first ? "th" : "td", { class: classes || null, scope: first ? "row" : null, "data-order": column.numeric ? value ?? "" : null }, text);
  if (cell.beneath) node.append(" ", make("small", {}, cell.beneath));
  if (cell.behind) node.append(cell.behind);
  if (cell.above) node.append(make("sup", {}, cell.above));
  if (cell.bar !== undefined) node.append(make("span", { class: "bar", "aria-hidden": "true" }, make("span", { style: `width:${100 * cell.bar}%` })));
  if (cell.below) node.append(make("small", {}, cell.below));
  if (cell.shade !== undefined && cell.shade !== null) node.style.setProperty("--shade", `${Math.round(100 * cell.shade)}%`);
  if (cell.known) {
    node.known = cell.known;
    if (!first) node.tabIndex = -1;
  }
  return node;
}

function headNode(column) {
  const head = make("th", { scope: "col", class: column.numeric ? "number" : null });
  if (column.group) head.append(make("span", { class: "group" }, column.group));
  head.append(column.title);
  if (column.hint) head.title = column.hint;
  return head;
}

function walk(event) {
  const cell = event.target.closest("td[tabindex]");
  const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
  if (!cell || !step) return;
  event.preventDefault();
  let row = cell.parentElement;
  let place = cell.cellIndex;
  for (;;) {
    if (step[0]) row = step[0] > 0 ? row.nextElementSibling : row.previousElementSibling;
    place += step[1];
    const next = row && row.cells[place];
    if (!next) return;
    if (next.known && next.matches("td")) {
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
      return;
    }
  }
}

function saved(node) {
  return node.dataset.order ?? node.textContent;
}

/** A text that no spreadsheet calculates with (words.py says what would); a number stays one. */
function inert(text, node) {
  return node.classList.contains("number") ? text : text.replace(/^[=+\-@\t\r\n＝＋－＠]/, "'$&");
}

/** The sorted column, and the columns that are shown or hidden against the default, are in the address by their titles. */
function follow(view, columns, key) {
  const titles = columns.map((column) => column.title);
  const [title, direction] = kept(`sort${key}`).split("|");
  if (titles.includes(title)) view.order([[titles.indexOf(title), direction === "asc" ? "asc" : "desc"]]);
  const others = kept(`columns${key}`).split("|");
  columns.forEach((column, at) => { if (others.includes(column.title)) view.column(at).visible(Boolean(column.hidden)); });
  view.on("order.dt", () => {
    const [by] = view.order();
    keep(`sort${key}`, by?.length ? `${titles[by[0]]}|${by[1]}` : "");
  });
  view.on("column-visibility.dt", () => {
    keep(`columns${key}`, titles.filter((_, at) => view.column(at).visible() === Boolean(columns[at].hidden)).join("|"));
  });
}

function table({ columns, rows, name, classes = "", key = "" }) {
  const markOf = marksOf(rows, columns);
  const trs = rows.map((row) => {
    const node = make("tr", { class: row.emphasised ? "emphasised" : null }, ...columns.map((column, place) => cellNode(row.cells[place] ?? {}, column, place === 0, markOf[place](row))));
    node.row = row;
    return node;
  });
  const node = make("table", { class: classes || null, "aria-label": name }, make("thead", {}, make("tr", {}, ...columns.map(headNode))), make("tbody", {}, ...trs));
  node.addEventListener("keydown", walk);
  const scroll = make("div", { class: "scroll", role: "region", "aria-label": `${name}, scrollable`, tabindex: "0" }, node);
  const holder = make("div", { class: "table" }, scroll);
  const view = new DataTable(node, {
    paging: false,
    info: false,
    autoWidth: false,
    order: [],
    orderMulti: false,
    layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
    language: { zeroRecords: "No row fits the filter.", emptyTable: "Nothing was measured." },
    columnDefs: [
      { targets: columns.flatMap((column, place) => (column.numeric ? [place] : [])), type: "score", orderSequence: ["desc", "asc"] },
      { targets: columns.flatMap((column, place) => (column.numeric ? [] : [place])), type: "string", orderSequence: ["asc", "desc"] },
      { targets: columns.flatMap((column, place) => (column.hidden ? [place] : [])), visible: false },
    ],
  });
  new DataTable.Buttons(view, {
    buttons: [
      { extend: "colvis", text: "Columns", columns: ":gt(0)" },
      { extend: "csvHtml5", text: "Save as csv", filename: name, exportOptions: { columns: ":visible", format: { body: (_text, _row, _column, cell) => inert(saved(cell), cell) } } },
    ],
  });
  holder.append(make("div", { class: "tools" }, view.buttons().container()[0]));
  const refit = () => view.draw();
  view.search.fixed("rows", (_text, _data, index) => {
    const row = trs[index].row;
    return row.run !== undefined ? allowed(row.run) : row.runs ? row.runs.some(allowed) : true;
  });
  view.on("draw", () => {
    const first = node.querySelector("tbody td[tabindex]");
    if (first && !node.querySelector('tbody td[tabindex="0"]')) first.tabIndex = 0;
  });
  if (key !== null) follow(view, columns, key);
  view.draw();
  followFilter(refit);
  holder.discard = () => {
    unfollowFilter(refit);
    view.off("order.dt column-visibility.dt"); // that the table goes is no choice
    view.destroy();
  };
  return { holder, view, node };
}

// Replaces the content of a node and destroys its tables, which removal alone would leave in memory.
function replace(node, ...children) {
  for (const holder of node.querySelectorAll("div.table")) holder.discard();
  node.replaceChildren(...children);
  document.documentElement.dataset.tables = DataTable.tables().length;
}

function searchable(made, id, label) {
  const input = make("input", { type: "search", autocomplete: "off", oninput: () => made.view.search(input.value).draw() });
  return [make("div", { class: "controls" }, labelled(id, label, input)), made.holder];
}

// --- a table of the payload as it is: published rows, geometries ---

function plain(spec, key = null) {
  const cell = (value, column) => {
    const [own, rank, behind, ranked, text] = Array.isArray(value) ? value : [value, null, "", true, ""];
    return { value: own, text: text || undefined, behind: `${behind}${rank ? ` (${rank})` : ""}`, ranked, column };
  };
  const rows = spec.rows.map((values, place) => {
    const cells = values.map((value, at) => cell(value, spec.columns[at]));
    const texts = cells.filter((one, at) => !spec.columns[at].numeric && one.value !== null).map((one) => one.value);
    for (const one of cells) {
      const number = () => one.text ?? fixed(one.value, Math.max(4, one.column.digits));
      const lines = () => [["Row", texts.slice(1).join(", ")], [one.column.title, number()], ["Table", spec.title]];
      if (isNumber(one.value)) one.known = { title: texts[0], lines };
    }
    return { cells, block: spec.blocks?.[place], emphasised: spec.emphasised.includes(place) };
  });
  return table({ columns: spec.columns, rows, name: spec.title, key });
}

/** A part that is folded or open; with a key, which of both is in the address. */
function folded(title, content, open = false, key = "") {
  const shown = key ? kept(key, open ? "open" : "") !== "" : open;
  const box = make("details", { class: "part", open: shown }, make("summary", {}, make("h2", {}, title)));
  let built = false;
  const build = () => {
    if (built || !box.open) return;
    built = true;
    box.append(...content());
  };
  box.addEventListener("toggle", () => {
    build();
    if (key && box.isConnected) keep(key, box.open ? "open" : "", open ? "open" : "");
  });
  box.build = build;
  build();
  return box;
}
