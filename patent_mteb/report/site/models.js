// The models: their facts, the filter over them, and who is told when it changes.

const runs = data.runs.map((run, number) => ({ ...run, number, search: run.label.toLowerCase(), of: Object.fromEntries(data.facts.map((fact, place) => [fact.key, run.facts[place]])) }));
const filter = { words: "", facts: {} };
const TESTS = {
  "<": (wanted) => (own) => own !== null && own <= Number(wanted), ">": (wanted) => (own) => own !== null && own > Number(wanted),
  "@": (wanted) => (own) => own !== null && own.slice(0, 4) >= wanted, "=": (wanted) => (own) => own === wanted,
};
let listeners = [];

const NUMBERS = { parameters: brief, dims: String, tokens: brief, memory: brief };
const factText = (fact, value) => (value === null ? DASH : fact.kind === "number" ? NUMBERS[fact.key](value) : value);

function allowed(number) {
  const run = runs[number];
  const words = filter.words.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.every((word) => run.search.includes(word))) return false;
  return Object.entries(filter.facts).every(([key, test]) => test(run.of[key]));
}

function filterChanged() {
  hide();
  for (const listener of listeners) listener();
}

function factChoice(fact) {
  const values = [...new Set(runs.map((run) => run.of[fact.key]))].filter((value) => value !== null);
  if (values.length < 2) return null;
  let options;
  if (fact.kind === "number") {
    const bounds = fact.steps.filter((step) => values.some((value) => value <= step) && values.some((value) => value > step));
    if (!bounds.length) return null;
    options = bounds.flatMap((step) => [[`<${step}`, `up to ${NUMBERS[fact.key](step)}`], [`>${step}`, `over ${NUMBERS[fact.key](step)}`]]);
  } else if (fact.kind === "date") {
    const years = [...new Set(values.map((value) => value.slice(0, 4)))].sort();
    if (years.length < 2) return null;
    options = years.map((year) => [`@${year}`, `from ${year}`]);
  } else options = values.sort().map((value) => [`=${value}`, value]);
  return labelled(`filter-${fact.key}`, fact.title, choice(`filter-${fact.key}`, [["", "any"], ...options], "", readFilter));
}

function readFilter() {
  filter.words = filterInput.value;
  filter.facts = {};
  for (const box of factChoices) {
    const select = box.querySelector("select");
    if (select.value) filter.facts[select.id.slice("filter-".length)] = TESTS[select.value[0]](select.value.slice(1));
  }
  filterChanged();
}

/** Set the fields of the filter to what the address says. */
function restoreFilter() {
  filterInput.value = kept("filter");
  for (const box of factChoices) box.querySelector("select").value = kept(box.querySelector("select").id);
  readFilter();
}

const filterInput = make("input", { type: "search", autocomplete: "off", oninput: () => { keep("filter", filterInput.value); readFilter(); } });
const factChoices = data.facts.map(factChoice).filter(Boolean);
const filterBar = make("div", { class: "controls filter", role: "search", "aria-label": "Filter models" },
  labelled("filter", "Filter models", filterInput, true),
  factChoices.length ? make("details", { class: "more" }, make("summary", {}, "by size, licence and more"), make("div", { class: "controls" }, ...factChoices)) : null,
);
const followFilter = (listener) => listeners.push(listener);
const unfollowFilter = (listener) => { listeners = listeners.filter((one) => one !== listener); };
const forgetListeners = () => { listeners = []; };

// --- what is known of a number, for the box ---

function modelLines(run) {
  return data.facts.map((fact) => [fact.title, run.of[fact.key] === null ? null : factText(fact, run.of[fact.key])]);
}

/** The cell of a run: its model, and below it in small type its settings. */
const nameCell = (run, known = null) => ({ value: run.name, beneath: run.settings.trim(), known });
const modelKnown = (run) => ({ title: run.label, lines: () => modelLines(run) });
