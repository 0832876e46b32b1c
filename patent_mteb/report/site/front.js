// The front page of a data source: a card a benchmark, and the table of ranks.

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
    lines: () => [
      ["Task", `${head.task} (${head.short})`],
      ["Score", `${fixed(head.values[place])} (${head.measure})`],
      ["95% interval", intervalText(head.intervals[place])],
      ["Against the best", { true: "tied, or the best itself", false: "different", null: "not compared" }[head.tied[place]]],
      ["Too little", head.small[place]],
      ...modelLines(run),
    ],
  };
}

function meanKnown(run, mean, place) {
  const value = mean.values[place];
  const own = mean.key === "rank"
    ? [["Rank and its 95% interval", `${value}${mean.behind[place]}`]]
    : [["Mean", fixed(value)], ["Excluded", mean.without?.[place]]];
  return { title: `${run.label}: ${mean.title}`, lines: () => [...own, ...modelLines(run)] };
}

/** The cell of a mean, or of a rank. */
function meanCell(run, mean, place) {
  const value = mean.values[place] ?? null;
  return { value, behind: mean.behind?.[place] ?? "", known: value === null ? null : meanKnown(run, mean, place) };
}
const meanColumn = (mean, more = {}) => (
  { title: mean.title, numeric: true, marked: mean.marked ?? true, digits: mean.digits, ...more });

/** Whether there are two scores, which could have been compared. */
const several = (values) => values.filter(isNumber).length > 1;
const UNTESTED = "◦";

/** A name that may break before a capital. */
const breakable = (name) => name.split(/(?<=[a-z])(?=[A-Z])/).flatMap((part, at) => (at ? [make("wbr"), part] : [part]));

function card(tab, head) {
  const places = head.values.map((value, place) => place).filter((place) => isNumber(head.values[place]) && !head.small[place] && allowed(tab.runs[place]));
  const best = places.sort((a, b) => head.values[b] - head.values[a])[0];
  const target = data.tabs.find((other) => other.kind === "benchmark" && other.data_source === tab.data_source && other.name === head.title);
  const number = best === undefined ? make("p", { class: "headline" }, DASH) : make("p", { class: "headline", tabindex: "0" }, fixed(head.values[best]));
  if (best !== undefined) number.known = headlineKnown(tab, head, best);
  const run = best === undefined ? null : runs[tab.runs[best]];
  const sure = best === undefined ? null : head.intervals[best];
  const soft = (text) => make("span", { class: "soft" }, text);
  return make("section", { class: "card" },
    make("h3", {}, make("a", { href: `#${target.id}` }, ...breakable(head.title))),
    make("p", { class: "soft" }, `${head.measure} of ${head.short}`),
    number, sure ? soft(` [${fixed(sure[0], 3)}, ${fixed(sure[1], 3)}]`) : null,
    run ? make("p", {}, ...breakable(run.name), run.settings ? soft(run.settings) : null) : null,
    make("p", { class: "soft" }, standing(head, places)));
}

/** What a card says of its number; places are those of the models that fit the filter, best first. */
function standing(head, places) {
  if (!places.length) return "No model has a score on enough queries.";
  if (places.length === 1) return "the only model";
  const best = `best of ${places.length} models`;
  const better = head.values.some((value, place) => value > head.values[places[0]] && !head.small[place]);
  if (better) return best; // ties are with the best of all models, which the filter hides
  if (!head.tied[places[0]]) return `${best}, not compared`;
  const count = (state) => places.slice(1).filter((place) => head.tied[place] === state).length;
  const [tied, untested] = [count(true), count(null)];
  return `${best}, ${tied ? `statistically tied with ${tied}` : "significantly"}${untested ? `; ${untested} not compared` : ""}`;
}

function forestOf(tab, head) {
  const rows = head.values.map((value, place) => [tab.runs[place], value, ...(head.intervals[place] ?? [null, null])]).filter((row) => isNumber(row[1])).sort((a, b) => b[1] - a[1]);
  return { title: `${head.title}: ${head.short}`, kind: "forest", y: head.measure, x: "", log: false, facet: "", note: "", rows };
}

/** The means before the headlines (rank, score, overall), and those after them (of common tasks, of each benchmark). */
function meansOf(tab) {
  const leads = (mean) => ["rank", "score", "overall"].includes(mean.key);
  return [tab.means.filter(leads), [...tab.common, ...tab.means.filter((mean) => !leads(mean))]];
}

function front(tab) {
  const holder = make("div");
  const cards = make("div", { class: "cards" });

  function rowOf(place) {
    const run = runs[tab.runs[place]];
    const [done, total] = tab.tasks[place].split(" of ").map(Number);
    const heads = tab.headlines.map((head) => {
      const [value, small] = [head.values[place], head.small[place]];
      const untested = isNumber(value) && head.tied[place] === null && several(head.values);
      return {
        value, ranked: !small, behind: small ? "†" : untested ? UNTESTED : "", tied: head.tied[place] && !small,
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
    const columns = [
      { title: "Model" }, ...first.map((mean) => meanColumn(mean)),
      { title: "Tasks", numeric: true, hint: "How many of the tasks were run." },
      ...tab.headlines.map((head) => ({ title: head.title, group: head.measure, numeric: true, marked: true, hint: `${head.task} (${head.measure})` })),
      ...rest.map((mean) => meanColumn(mean, mean.key ? { group: "mean", hidden: true } : {})),
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
