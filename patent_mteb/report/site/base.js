// What everything else is built from: unpacking, nodes, numbers, and the box that says what is known of a number.

async function unpacked(id) {
  const packed = Uint8Array.from(atob(document.getElementById(id).textContent), (character) => character.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}

const data = JSON.parse(await unpacked("payload"));
const source = URL.createObjectURL(new Blob([await unpacked("library")], { type: "text/javascript" }));
const { default: DataTable } = await import(source);
URL.revokeObjectURL(source);
document.head.prepend(Object.assign(document.createElement("style"), { textContent: await unpacked("library-style") }));
const night = matchMedia("(prefers-color-scheme: dark)");
const dress = () => document.documentElement.classList.toggle("dark", night.matches);
night.addEventListener("change", dress);
dress();

const DASH = "–";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

const isNumber = (value) => typeof value === "number";
const fixed = (value, digits = 4) => (isNumber(value) ? (rounded(value, digits) || 0).toFixed(digits) : value ?? DASH); // no -0.00
const pText = (p) => (p < 0.0001 ? "< 0.0001" : `= ${fixed(p)}`);
const rounded = (value, digits) => Number(value.toFixed(digits));

const signed = (value, digits) => `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(digits)}`;

function brief(value) {
  for (const [size, unit] of [[1e9, "B"], [1e6, "M"], [1e3, "k"]]) if (Math.abs(value) >= size) return `${Number((value / size).toPrecision(3))}${unit}`;
  return String(Number(value.toPrecision(4)));
}

const notes = (texts) => texts.map((text) => make("p", { class: "soft" }, text));

function labelled(id, label, control, wide = false) {
  control.id = id;
  return make("div", { class: wide ? "wide" : null }, make("label", { for: id }, label), control);
}

/** A list to choose from, whose choice is in the address under a key. */
function choice(key, options, start, change) {
  const choose = () => { keep(key, select.value, start); change(select.value); };
  const select = make("select", { onchange: choose }, ...options.map(([value, label]) => make("option", { value }, label)));
  select.value = kept(key, start);
  if (select.selectedIndex < 0) select.value = start;
  return select;
}

function switches(label, options, start, change) {
  const buttons = options.map(([value, title]) =>
    make("button", { type: "button", "data-value": value, "aria-pressed": String(value === start), onclick: () => choose(value) }, title));
  function choose(value) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.value === value));
    change(value);
  }
  return make("div", { class: "wide" }, make("span", { class: "label" }, label), make("div", { class: "switch", role: "group", "aria-label": label }, ...buttons));
}

// --- the box that says what is known of a number; a node with `known` = {title, lines()} has one ---

const tip = document.getElementById("tip");
let described = null;

function show(node) {
  described = node;
  const list = make("dl");
  for (const [name, value] of node.known.lines()) {
    if (value !== null && value !== undefined && value !== "") list.append(make("dt", {}, name), make("dd", {}, String(value)));
  }
  tip.replaceChildren(make("strong", {}, node.known.title), list);
  tip.hidden = false;
  const at = node.getBoundingClientRect();
  const size = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - size.width - 8))}px`;
  tip.style.top = `${at.bottom + size.height + 10 < innerHeight ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
}

function hide() {
  described = null;
  tip.hidden = true;
}

function knownOf(target) {
  let node = target instanceof Element ? target : null;
  while (node && !node.known) node = node.parentElement;
  return node;
}

document.addEventListener("mouseover", (event) => {
  const node = knownOf(event.target);
  if (node) show(node);
  else if (described && described !== document.activeElement) hide();
});
document.addEventListener("focusin", (event) => {
  const node = knownOf(event.target);
  if (node) show(node);
  else hide();
});
document.addEventListener("click", (event) => {
  const node = knownOf(event.target);
  if (node) {
    if (node.tabIndex >= -1 && node.matches("td")) node.focus();
    show(node);
  } else if (!tip.contains(event.target)) hide();
});
document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
addEventListener("scroll", () => { if (described && innerWidth > 600) hide(); }, { passive: true, capture: true });
