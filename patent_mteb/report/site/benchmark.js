// A benchmark's tab: scores by judgement, slice and group of tasks, its slices, its charts, and what papers print.

const SLICES = { "": "All", in: "IN", out: "OUT", gap: "Gap" };
const FAMILIES = { jurisdiction: "filing office", ipc: "IPC section", year: "year", category: "citation category", paper: "protocol" };

function familyOf(slice) {
  const [head, ...rest] = slice.split("_");
  return rest.length ? head : slice === "paper" ? "paper" : "category";
}
function sliceTitle(slice) {
  if (slice in SLICES) return SLICES[slice];
  if (slice === "paper") return "paper's protocol";
  const [, ...rest] = slice.split("_");
  return rest.length ? rest.join(" ").toUpperCase() : slice.toUpperCase();
}

function countOf(tab, slice, place, task) {
  const counts = tab.counts[slice];
  return counts ? (Array.isArray(counts[0]) ? counts[place][task] : counts[task]) : null;
}

function smallOf(tab, slice, place, task) {
  const of = (name) => (tab.small[name] ? tab.small[name][place][task] : null);
  return slice === "gap" ? of("in") || of("out") : of(slice);
}

const jointText = (p) => `p ${pText(p)}, jointly over all pairs`;

function againstBest(sure) {
  if (isNumber(sure?.[3])) return `${jointText(sure[3])}: ${sure[2] ? "cannot be distinguished" : "worse"}`;
  return sure?.[2] ? "the best" : "not compared";
}

function scoreKnown(tab, slice, place, task) {
  const run = runs[tab.runs[place]];
  const spec = tab.tasks[task];
  const value = tab.values[slice][place][task];
  const said = tab.found[place][task].map((number) => data.texts[number]);
  const sure = tab.intervals[slice]?.[place]?.[task];
  const explored = tab.explorers.find((one) => one.task === spec.name && one.runs.includes(run.number));
  return {
    explore: explored ? { task: spec.name, run: run.number } : null,
    title: `${run.label}: ${spec.short}`,
    lines: () => [
      ["Task", spec.name],
      ["Score", slice === "gap" ? `${value.toFixed(1)}% lost from IN to OUT` : `${fixed(value)} (${spec.measure}${slice ? `, ${sliceTitle(slice)}` : ""})`],
      ["95% interval", sure ? intervalText(sure) : null],
      ["Too little", smallOf(tab, slice, place, task)],
      ["Against the best", slice === "gap" ? null : againstBest(sure)],
      ["Against baseline", isNumber(sure?.[5]) ? `${jointText(sure[5])} (${data.baseline})` : null],
      ["Queries", slice === "gap" ? null : countOf(tab, slice, place, task)],
      ["In training data", tab.trained[place].includes(task) ? "yes, as the model's card states" : null],
      ["Model", said[0]], ["Model revision", said[1]], ["Data", data.texts[spec.data]], ["Prompt", said[2]], ["Versions", said[3]], ["Date", said[4]],
      ["Queries one by one", explored ? "Enter or two clicks" : null],
    ],
  };
}

function scoreCell(tab, slice, place, task) {
  const value = tab.values[slice][place][task];
  if (value === null) return { value };
  const small = smallOf(tab, slice, place, task);
  const sure = tab.intervals[slice]?.[place]?.[task];
  const trained = tab.trained[place].includes(task);
  const compared = isNumber(sure?.[3]) || sure?.[2] || slice === "gap";
  const untested = !small && !compared && several(tab.values[slice].map((row) => row[task]));
  return {
    value, behind: `${small ? "†" : ""}${trained ? "‡" : ""}${untested ? UNTESTED : ""}`, ranked: !small,
    tied: Boolean(sure?.[2]) && !small, best: !isNumber(sure?.[3]), above: sure?.[4] ? "a" : "", below: below(sure, small),
    known: scoreKnown(tab, slice, place, task),
  };
}

function scores(tab) {
  const state = { slice: kept("slice"), group: kept("group") };
  if (!(state.slice in tab.values)) state.slice = "";
  const holder = make("div");

  function paint() {
    const all = tab.tasks.map((_, task) => task).filter((task) => !state.group || tab.tasks[task].group === state.group);
    const kept = all.filter((task) => tab.values[state.slice].some((row) => row[task] !== null));
    const means = state.slice === "" && !state.group ? tab.means.filter((mean) => mean.values.some(isNumber)) : [];
    const gap = state.slice === "gap";
    const columns = [
      { title: "Model" },
      ...means.map((mean) => meanColumn(mean)),
      ...kept.map((task) => ({ title: tab.tasks[task].short, group: tab.tasks[task].group, numeric: true, marked: !gap, digits: gap ? 1 : 4, unit: gap ? "%" : "", hint: `${tab.tasks[task].name} (${tab.tasks[task].measure}): ${data.texts[tab.tasks[task].about]}` })),
      ...factColumns([]),
    ];
    const rows = tab.runs.map((number, place) => {
      const run = runs[number];
      const averages = means.map((mean) => meanCell(run, mean, place));
      const scored = kept.map((task) => scoreCell(tab, state.slice, place, task));
      return { run: number, cells: [nameCell(run, modelKnown(run)), ...averages, ...scored, ...factCells(run)] };
    });
    const made = table({ columns, rows, name: `${tab.label}, ${sliceTitle(state.slice)}` });
    replace(holder, made.holder);
    hide();
  }

  const judged = Object.keys(SLICES).filter((slice) => slice in tab.values);
  const others = Object.keys(tab.values).filter((slice) => !(slice in SLICES));
  const groups = [...new Set(tab.tasks.map((task) => task.group))];
  const slices = others.length ? choice("slice", [["", "all judgements"], ...others.map((slice) => [slice, `${FAMILIES[familyOf(slice)] ?? familyOf(slice)}: ${sliceTitle(slice)}`])], "", (value) => { state.slice = value; paint(); press(value); }) : null;
  const sides = judged.length > 1 ? switches("Judgements", judged.map((slice) => [slice, SLICES[slice]]), state.slice, (value) => { keep("slice", value); state.slice = value; if (slices) slices.value = ""; paint(); }) : null;
  const press = (value) => { for (const button of sides?.querySelectorAll("button") ?? []) button.setAttribute("aria-pressed", String(button.dataset.value === value)); };
  const controls = make("div", { class: "controls" },
    sides,
    sureSwitch(paint),
    slices ? labelled("slice", "Slice", slices) : null,
    groups.length > 1 ? labelled("group", "Tasks", choice("group", [["", "all"], ...groups.map((group) => [group, group])], "", (value) => { state.group = value; paint(); })) : null,
  );
  paint();
  return [make("div", { class: "bars" }, filterBar, controls), holder];
}

// --- slices: models by slice for one task, or tasks by slice for one model ---

function bySlice(tab) {
  const families = Map.groupBy(Object.keys(tab.values).filter((slice) => !(slice in SLICES)), familyOf);
  const state = { family: kept("by", [...families.keys()][0]) };
  const holder = make("div");
  const measured = tab.tasks.map((_, task) => task).filter((task) => [...families.values()].flat().some((slice) => tab.values[slice].some((row) => row[task] !== null)));
  const firstTask = `task ${measured[0]}`;
  state.about = kept("show", firstTask);
  if (!families.has(state.family)) [state.family] = families.keys();

  function paint() {
    const [kind, number] = state.about.split(" ");
    const chosen = Number(number);
    const slices = ["", ...families.get(state.family)].filter((slice) => kind !== "task" || tab.values[slice].some((row) => row[chosen] !== null));
    const count = (slice) => (kind === "task" ? countOf(tab, slice, 0, chosen) : null);
    const columns = [{ title: kind === "task" ? "Model" : "Task" }, ...slices.map((slice) => ({ title: sliceTitle(slice), group: isNumber(count(slice)) ? `n ${count(slice)}` : null, numeric: true, marked: kind === "task" }))];
    const at = (row, slice) => (kind === "task" ? [slice, row, chosen] : [slice, chosen, row]);
    const members = kind === "task" ? tab.runs.map((_, place) => place) : measured;
    const measureOf = (row) => tab.tasks[kind === "task" ? chosen : row].measure;
    const isShaded = (cell) => isNumber(cell.value) && cell.ranked;
    const made = members.map((row) => slices.map((slice) => scoreCell(tab, ...at(row, slice))));
    const ends = new Map([...Map.groupBy(members, measureOf)].map(([measure, own]) => {
      const values = own.flatMap((row) => made[members.indexOf(row)].filter(isShaded).map((cell) => cell.value));
      return [measure, [Math.min(...values), Math.max(...values)]];
    }));
    const rows = members.map((row, number) => ({
      run: kind === "task" ? tab.runs[row] : undefined,
      cells: [kind === "task" ? nameCell(runs[tab.runs[row]]) : { value: tab.tasks[row].short }, ...made[number].map((cell) => {
        const [low, high] = ends.get(measureOf(row));
        const behind = (cell.behind ?? "") + (cell.tied && !cell.best ? "≈" : "");
        return { ...cell, behind, above: "", shade: isShaded(cell) ? (cell.value - low) / (high - low || 1) : null };
      })],
    }));
    replace(holder, table({ columns, rows, name: `${tab.label}, by ${FAMILIES[state.family] ?? state.family}`, classes: "heat", key: "-slices" }).holder);
  }

  const about = [...measured.map((task) => [`task ${task}`, `models on ${tab.tasks[task].short}`]), ...tab.runs.map((run, place) => [`model ${place}`, `tasks of ${runs[run].label}`])];
  const controls = make("div", { class: "controls" },
    labelled("about", "Show", choice("show", about, firstTask, (value) => { state.about = value; paint(); })),
    families.size > 1 ? labelled("family", "By", choice("by", [...families.keys()].map((family) => [family, FAMILIES[family] ?? family]), [...families.keys()][0], (value) => { state.family = value; paint(); })) : null);
  paint();
  return [make("p", { class: "soft" }, "Here the colour is the score, on one scale a measure; none has one with †. ≈: cannot be distinguished from the best model."), controls, holder];
}

function wordsOf(tab) {
  return new Set([...tab.tasks.flatMap((task) => [...task.short.split(/[^\w@]+/), task.measure, ...task.name.split(/(?=DWPI)|\W/).filter((part) => part.startsWith("DWPI"))]), ...Object.keys(tab.values).map(sliceTitle), ...tab.further.flatMap((spec) => spec.columns.map((column) => column.title.split(" ")[0].toUpperCase()))]);
}

function termsOf(tab, words) {
  const found = Object.entries({ ...data.terms, ...tab.terms }).filter(([term]) => words.has(term));
  if (!found.length) return null;
  return make("dl", { class: "terms", "aria-label": "What the words mean" }, ...found.map(([term, meaning]) => make("div", {}, make("dt", {}, term), make("dd", {}, meaning))));
}

function benchmark(tab) {
  const other = Object.keys(tab.values).some((slice) => !(slice in SLICES));
  const box = { node: tab.explorers.length ? folded("Query by query", () => explorer(tab), false, "queries") : null };
  const scored = make("div", {}, ...scores(tab));
  if (box.node) explorable(tab, box)(scored);
  return [
    make("p", {}, `${tab.about} `, tab.reference ? make("a", { href: tab.reference, rel: "noreferrer" }, "Paper") : null, make("span", { class: "soft" }, ` Licence of the data: ${tab.licence}.`)),
    scored,
    termsOf(tab, wordsOf(tab)),
    ...notes(tab.notes),
    other ? folded("By slice", () => bySlice(tab), false, "slices") : null,
    box.node,
    tab.charts.length ? folded("Charts", () => [make("div", { class: "figures" }, ...tab.charts.map(chart))], true, "charts") : null,
    ...tab.further.map((spec, at) => folded(spec.title, () => [plain(spec, `-more${at}`).holder, ...notes(spec.notes)], false, `more${at}`)),
    ...tab.published.map((spec, at) => folded(spec.title, () => [...searchable(plain(spec, `-paper${at}`), `rows-${at}`, "Filter rows"), ...notes(spec.notes)], false, `paper${at}`)),
  ];
}
