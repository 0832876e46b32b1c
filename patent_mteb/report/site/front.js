// The front page of a world: a card a benchmark, and the table of who stands where.

const display = { sure: false };

function sureSwitch(change) {
  return switches("Intervals", [["off", "hidden"], ["on", "± shown"]], display.sure ? "on" : "off", (value) => { display.sure = value === "on"; change(); });
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
    lines: () => [["Task", `${head.task} (${head.short})`], ["Score", `${fixed(head.values[place])} (${head.measure})`], ["95% interval", intervalText(head.intervals[place])], ["Against the best", head.tied[place] ? "not different, or the best itself" : null], ["Too little", head.small[place]], ...modelLines(run)],
  };
}

function meanKnown(run, mean, place) {
  return { title: `${run.label}: ${mean.title}`, lines: () => [["Mean", fixed(mean.values[place])], ["Left out", mean.without?.[place]], ...modelLines(run)] };
}

/** A name that may break before a capital. */
const breakable = (name) => name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));

function card(tab, head) {
  const places = head.values.map((value, place) => place).filter((place) => isNumber(head.values[place]) && !head.small[place] && allowed(tab.runs[place]));
  const best = places.sort((a, b) => head.values[b] - head.values[a])[0];
  const target = data.tabs.find((other) => other.kind === "benchmark" && other.world === tab.world && other.name === head.title);
  const number = best === undefined ? make("p", { class: "headline" }, DASH) : make("p", { class: "headline", tabindex: "0" }, fixed(head.values[best]));
  if (best !== undefined) number.known = headlineKnown(tab, head, best);
  return make("section", { class: "card" },
    make("h3", {}, make("a", { href: `#${target.id}` }, ...breakable(head.title))),
    make("p", { class: "soft" }, `${head.measure} of ${head.short}`),
    number,
    make("p", {}, best === undefined ? "no score on enough queries" : runs[tab.runs[best]].short),
    make("p", { class: "soft" }, `best of ${places.length} model${places.length === 1 ? "" : "s"}`));
}

function forestOf(tab, head) {
  const rows = head.values.map((value, place) => [tab.runs[place], value, ...(head.intervals[place] ?? [null, null])]).filter((row) => isNumber(row[1])).sort((a, b) => b[1] - a[1]);
  return { title: `${head.title}: ${head.short}`, kind: "forest", y: head.measure, x: "", log: false, facet: "", note: "", rows };
}

function front(tab) {
  const holder = make("div");
  const cards = make("div", { class: "cards" });
  const total = tab.coverage.reduce((sum, one) => sum + one.of, 0);

  function rowOf(place) {
    const run = runs[tab.runs[place]];
    const done = tab.coverage.reduce((sum, one) => sum + one.counts[place], 0);
    const heads = tab.headlines.map((head) => ({
      value: head.values[place], ranked: !head.small[place], behind: head.small[place] ? "†" : "", below: below(head.intervals[place], head.small[place]), tied: head.tied[place],
      known: isNumber(head.values[place]) ? headlineKnown(tab, head, place) : null,
    }));
    const means = [...tab.common, ...tab.means].map((mean) => ({ value: mean.values[place] ?? null, behind: mean.without?.[place] ? "†" : "", known: isNumber(mean.values[place]) ? meanKnown(run, mean, place) : null }));
    const coverage = { value: done, text: `${done} of ${total}`, bar: done / total, known: { title: `${run.label}: tasks measured`, lines: () => tab.coverage.map((one) => [one.title, `${one.counts[place]} of ${one.of}`]) } };
    return { run: run.number, cells: [{ value: run.label, text: run.label, known: modelKnown(run) }, { value: tab.ranks[place], text: String(tab.ranks[place]), known: { title: run.label, lines: () => [["Rank", tab.ranks[place]], ["By", tab.notes[0].split(". ")[1]]] } }, ...heads, coverage, ...means, ...factCells(run)] };
  }

  function paint() {
    const columns = [
      { title: "Model" }, { title: "Rank", numeric: true, marked: false },
      ...tab.headlines.map((head) => ({ title: head.title, group: head.measure, numeric: true, marked: true, hint: `${head.task} (${head.measure})` })),
      { title: "Tasks", numeric: true, hint: "How many of the tasks were measured." },
      ...tab.common.map((mean) => ({ title: mean.title, numeric: true, marked: true })),
      ...tab.means.map((mean) => ({ title: mean.title, group: "mean", numeric: true, marked: true, hidden: !mean.values.some(isNumber) })),
      ...factColumns(["parameters", "trained"]),
    ];
    replace(holder, table({ columns, rows: tab.runs.map((_, place) => rowOf(place)), name: tab.label }).holder);
  }
  const deal = () => cards.replaceChildren(...tab.headlines.map((head) => card(tab, head)));
  followFilter(() => { if (cards.isConnected) deal(); });
  deal();
  paint();
  const forests = tab.headlines.map((head) => forestOf(tab, head)).filter((spec) => spec.rows.length > 1);
  return [
    ...tab.reproduction.map((spec) => folded(spec.title, () => [plain(spec).holder, ...notes(spec.notes)], true)),
    cards, make("div", { class: "bars" }, filterBar, make("div", { class: "controls" }, sureSwitch(paint))), holder,
    forests.length ? make("h2", {}, "Headlines with their 95% intervals") : null,
    make("div", { class: "figures" }, ...forests.map(chart)),
  ];
}
