// The front page of a data source: the table to decide with, and the table of ranks.

const display = { sure: false };

function sureSwitch(change) {
  const options = [["", "as sure"], ["four", "four, with intervals"]];
  return switches("Digits", options, kept("digits"), (value) => { keep("digits", value); display.sure = value === "four"; change(); });
}

const intervalText = (interval) => (interval ? `${fixed(interval[0])} to ${fixed(interval[1])}` : null);
const below = (interval, small) => ((display.sure || small) && interval ? `[${fixed(interval[0], 3)}, ${fixed(interval[1], 3)}]` : null);

function factColumns(shown) {
  return data.facts.map((fact) => ({ title: fact.title, hint: fact.hint, numeric: fact.kind === "number", hidden: !shown.includes(fact.key) }));
}
function factCells(run) {
  return data.facts.map((fact) => ({ value: run.of[fact.key], text: factText(fact, run.of[fact.key]), known: fact.kind === "number" && run.of[fact.key] !== null ? modelKnown(run) : null }));
}

function headlineKnown(tab, head, place) {
  const run = runs[tab.runs[place]];
  return {
    title: `${run.label}: ${head.title}`,
    lines: () => [
      ["Task", `${head.task} (${head.short})`],
      ["Score", `${fixed(head.values[place])} (${head.measure})`],
      ["95% interval", intervalText(head.intervals[place])],
      ["Against the best", { true: "the best, or cannot be distinguished from it", false: "worse", null: "not compared" }[head.tied[place]]],
      ["Too little", head.small[place]],
      ...modelLines(run),
    ],
  };
}

function meanKnown(run, mean, place) {
  const value = mean.values[place];
  const own = mean.key === "rank"
    ? [["Rank and its 95% interval", `${value}${mean.behind[place]}`]]
    : [["Mean", fixed(value)], ["95% interval, over tasks and queries", intervalText(mean.intervals?.[place])], ["Excluded", mean.without?.[place]]];
  return { title: `${run.label}: ${mean.title}`, lines: () => [...own, ...modelLines(run)] };
}

/** The cell of a mean, or of a rank. */
function meanCell(run, mean, place) {
  const value = mean.values[place] ?? null;
  const interval = mean.intervals?.[place];
  const text = interval && !display.sure ? fixed(value, mean.sure[place]) : undefined;
  return { value, text, missing: mean.missing?.[place], behind: mean.behind?.[place] ?? "", below: below(interval), known: value === null ? null : meanKnown(run, mean, place) };
}
const meanColumn = (mean, more = {}) => (
  { title: mean.title, numeric: true, marked: mean.marked ?? true, digits: mean.digits, ...more });

/** Whether there are two scores, which could have been compared. */
const several = (values) => values.filter(isNumber).length > 1;
const UNTESTED = "◦";

/** What is said of a job: a title, and the content from the cells of the report's table of jobs by their keys. */
function columnsOfJobs(tab) {
  const several = tab.runs.length > 1;
  return [
    ["Job", jobCell], ...(several ? [["Best models", (cell) => [said("best", cell)]]] : []), [several ? "Score of the best" : "Score", scoreCellOf],
    [tab.jobs.gap, gapCell], ["A million patents cost", costCell], ...(several ? [["The cheapest of the best", (cell) => [said("cheapest", cell)]]] : []),
  ];
}
const cellsOfJob = (tab, number) => Object.fromEntries(tab.jobs.keys.map((key, at) => [key, { ...read(tab.jobs.rows[number][at]), ends: tab.jobs.ends[number][key] }]));

const wordsOfJob = ({ task, measure }) => [...(task.value.match(/TAC|TA|Claim1|DWPI/g) ?? []), ...measure.text.split(" ")];

/** The table to decide with: a row a job. */
function decision(tab) {
  const columns = columnsOfJobs(tab);
  const rows = tab.jobs.rows.map((_, number) => make("tr", {}, ...columns.map(([title, content], at) => make(at ? "td" : "th", { scope: at ? null : "row", "data-title": title }, ...content(cellsOfJob(tab, number), tab)))));
  const head = make("tr", {}, ...columns.map(([title]) => make("th", { scope: "col" }, title)));
  return [
    make("h3", { class: "lead" }, tab.jobs.title),
    make("table", { class: `jobs over${columns.length}`, "aria-label": tab.jobs.title }, make("thead", {}, head), make("tbody", {}, ...rows)),
    ...notes(tab.jobs.notes.filter((note) => note.startsWith("To compare"))),
    termsOf(tab, new Set(tab.jobs.rows.flatMap((_, number) => wordsOfJob(cellsOfJob(tab, number))))),
    folded("How to read this table", () => notes(tab.jobs.notes.filter((note) => !note.startsWith("To compare"))), false, "how"),
  ];
}

function read(cell) {
  const [value, , behind, , text] = Array.isArray(cell) ? cell : [cell, null, "", true, ""];
  return { value, behind: behind.replaceAll("\u00a0", " ").trim(), text: text || (isNumber(value) ? String(value) : value ?? "") };
}
/** The text of a cell, which a test finds by its key. */
const said = (key, cell, text = cell[key].text) => make("span", { "data-key": key }, text === "" ? DASH : text);
const small = (...parts) => make("small", {}, ...parts);

function jobCell(cell, tab) {
  const target = data.tabs.find((one) => one.kind === "benchmark" && one.data_source === tab.data_source && one.tasks.some((task) => task.name === cell.task.value));
  const place = target.tasks.findIndex((task) => task.name === cell.task.value);
  const choice = new URLSearchParams({ sort: `${target.tasks[place].short}|desc` });
  if (cell.part.value) choice.set("slice", cell.part.value);
  const link = make("a", { href: `#${target.id}?${choice}` }, said("job", cell));
  return [link, small(`${target.name}: `, said("task", cell), ", ", said("measure", cell))];
}

/** A number with its interval: with the digits that this supports, or with four. */
function sureNumber(key, cell, text) {
  const { value, behind, ends } = cell[key];
  const four = display.sure && isNumber(value);
  const interval = four && ends ? behind.replace(/\[.*/, `[${fixed(ends[0])}, ${fixed(ends[1])}]`) : behind;
  return [make("strong", {}, said(key, cell, four ? text(value) : cell[key].text)), " ", interval];
}

function scoreCellOf(cell) {
  const searches = isNumber(cell.queries.value) ? [", ", said("queries", cell), " searches"] : [];
  return [...sureNumber("score", cell, fixed), " ", small("of ", said("models", cell), cell.models.value > 1 ? " models" : " model", ...searches)];
}

function gapCell(cell) {
  if (!isNumber(cell.gap.value)) return [make("span", { class: "soft" }, cell.gap_of.text)];
  const of = cell.gap_of.value === cell.best.value.split("; ")[0] ? "" : `${cell.gap_of.text} `;
  const against = cell.against.value ? `against ${cell.against.text}: ` : "";
  const counts = [`${against}${of}helps `, said("helped", cell), " searches, hurts ", said("hurt", cell)];
  return [...sureNumber("gap", cell, (value) => `${value > 0 ? "+" : ""}${fixed(value)}`), " ", small(...counts)];
}

function costCell(cell) {
  const hours = ["cpu", "gpu"].filter((device) => isNumber(cell[`${device}_hours`].value));
  const time = hours.flatMap((device) => [said(`${device}_hours`, cell), ` ${device.toUpperCase()} hours`]);
  const size = isNumber(cell.gigabytes.value) ? [said("gigabytes", cell), " GB of index or vectors"] : ["size not measured"];
  return [...(hours.length ? time : [make("span", { class: "soft" }, "time not measured")]), " ", small(...size)];
}
/** Say which of two models is better in a job, and on a phone what else is known of the job; a link keeps the choice. */
function pairBox(tab) {
  if (tab.runs.length < 2) return null;
  const state = { job: Number(kept("job", "0")) in tab.pairs ? Number(kept("job", "0")) : 0 };
  const [said, controls, card] = [make("p", { class: "said", role: "status" }), make("div", { class: "controls" }), make("dl", { class: "card" })];
  const of = (first, second) => tab.pairs[state.job].said.find(([one, other]) => (one === first && other === second) || (one === second && other === first));

  function paint() {
    const { said: pairs, start, names } = tab.pairs[state.job];
    const numbers = [...new Set(pairs.flatMap(([one, other]) => [one, other]))];
    const models = numbers.map((number) => [String(number), names[number]]);
    const two = pairs.length ? ["a", "b"].map((key, at) => Number(choice(key, models, String(start[at]), paint).value)) : [];
    said.textContent = !two.length ? "Not compared: no two models have scores of the same searches." : two[0] === two[1] ? "Choose two different models." : of(...two)[2];
    controls.replaceChildren(...[
      tab.pairs.length > 1 ? labelled("pair-job", "Job", choice("job", tab.pairs.map((pair, at) => [String(at), pair.title]), "0", (value) => { state.job = Number(value); keep("a", ""); keep("b", ""); paint(); }), true) : null,
      two.length ? labelled("pair-a", "A", choice("a", models, String(start[0]), paint)) : null,
      two.length ? labelled("pair-b", "or B", choice("b", models, String(start[1]), paint)) : null,
    ].filter(Boolean));
    const cell = cellsOfJob(tab, state.job);
    card.replaceChildren(...columnsOfJobs(tab).slice(1).flatMap(([title, content]) => [make("dt", {}, title), make("dd", {}, ...content(cell, tab))]));
  }
  paint();
  return make("section", { class: "pair", "aria-label": "A or B" }, make("h3", { class: "lead" }, "A or B"), said, controls, card);
}

function forestOf(tab, head) {
  const rows = head.values.map((value, place) => [tab.runs[place], value, ...(head.intervals[place] ?? [null, null])]).filter((row) => isNumber(row[1])).sort((a, b) => b[1] - a[1]);
  return { title: `${head.title}: ${head.short}`, kind: "forest", y: head.measure, x: "", log: false, facet: "", note: "", rows };
}

const LEADS = ["overall", "score", "rank"];
/** Models below which a rank says little. */
const RANKED = 4;

/** The means before the headlines (overall, score, rank), and those after them (of each benchmark). */
function meansOf(tab) {
  const leads = LEADS.flatMap((key) => tab.means.filter((mean) => mean.key === key));
  return [leads, tab.means.filter((mean) => !LEADS.includes(mean.key))];
}

/** Whether a mean is folded at first: the score of the only headline, a rank among few models, and what no model has. */
const isFolded = (tab, mean) => (mean.key === "score" && tab.headlines.length === 1) || (mean.key === "rank" && tab.runs.length < RANKED) || !mean.values.some(isNumber);

function front(tab) {
  const holder = make("div");
  const jobs = make("div");

  function rowOf(place) {
    const run = runs[tab.runs[place]];
    const [done, total] = tab.tasks[place].split(" of ").map(Number);
    const heads = tab.headlines.map((head) => {
      const [value, small] = [head.values[place], head.small[place]];
      const untested = isNumber(value) && head.tied[place] === null && several(head.values);
      return {
        value, text: display.sure || !isNumber(value) ? undefined : fixed(value, head.digits[place]), ranked: !small, behind: small ? "†" : untested ? UNTESTED : "", tied: head.tied[place] && !small,
        below: below(head.intervals[place], small), known: isNumber(value) ? headlineKnown(tab, head, place) : null,
      };
    });
    const [first, rest] = meansOf(tab).map((means) => means.map((mean) => meanCell(run, mean, place)));
    const lines = () => tab.coverage.map((one) => [one.title, `${one.counts[place]} of ${one.of}`]);
    const known = { title: `${run.label}: tasks that were run`, lines };
    const coverage = { value: done, text: tab.tasks[place], bar: done / total, known };
    const cells = [nameCell(run, modelKnown(run)), ...first, coverage, ...heads, ...rest, ...factCells(run)];
    return { run: run.number, cells };
  }

  function paint() {
    const [first, rest] = meansOf(tab);
    jobs.replaceChildren(...decision(tab).filter(Boolean));
    const columns = [
      { title: "Model" }, ...first.map((mean) => meanColumn(mean, { hidden: isFolded(tab, mean) })),
      { title: "Tasks", numeric: true, hint: "How many of the tasks were run." },
      ...tab.headlines.map((head) => ({ title: head.title, group: head.measure, numeric: true, marked: true, hint: `${head.task} (${head.measure})` })),
      ...rest.map((mean) => meanColumn(mean, { group: "mean", hidden: true })),
      ...factColumns(["parameters", "trained"]),
    ];
    replace(holder, table({ columns, rows: tab.runs.map((_, place) => rowOf(place)), name: tab.label }).holder);
  }
  paint();
  const forests = tab.headlines.map((head) => forestOf(tab, head)).filter((spec) => spec.rows.length > 1);
  return [
    ...tab.reproduction.map((spec) => folded(spec.title, () => [plain(spec).holder, ...notes(spec.notes)], true)),
    pairBox(tab), jobs, tab.runs.length > 1 ? make("h3", { class: "lead" }, "All models") : null,
    make("div", { class: "bars" }, filterBar, make("div", { class: "controls" }, sureSwitch(paint))), holder,
    forests.length ? make("h2", {}, "Headlines with their 95% intervals") : null,
    make("div", { class: "figures" }, ...forests.map(chart)),
  ];
}
