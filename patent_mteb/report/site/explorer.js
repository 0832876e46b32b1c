// Query by query: who wins how often in which part of the queries, and the queries on which two models differ most.

const LENGTHS = { length_short: "shorter queries", length_long: "longer queries" };
const partTitle = (part) => LENGTHS[part] ?? (part ? `${FAMILIES[familyOf(part)] ?? familyOf(part)}: ${sliceTitle(part)}` : "all queries");

// Place of a pair among itertools.combinations of the models, and whether its order is reversed there.
function pairOf(count, first, second) {
  const [low, high] = first < second ? [first, second] : [second, first];
  return { place: low * count - (low * (low + 1)) / 2 + (high - low - 1), turned: first > second };
}

function winsTable(spec, first, second, label) {
  const { place, turned } = pairOf(spec.runs.length, first, second);
  const names = [runs[spec.runs[first]].label, runs[spec.runs[second]].label];
  const columns = [{ title: "Queries" }, { title: "n", numeric: true }, { title: names[0], group: "wins", numeric: true }, { title: "Ties", numeric: true }, { title: names[1], group: "wins", numeric: true }];
  const rows = spec.groups.filter((group) => group.n).map((group) => {
    const [one, other] = turned ? [...group.wins[place]].reverse() : group.wins[place];
    const known = { title: partTitle(group.title), lines: () => [[names[0], `${one} wins (${fixed(100 * one / group.n, 1)}%)`], ["Ties", group.n - one - other], [names[1], `${other} wins (${fixed(100 * other / group.n, 1)}%)`]] };
    const count = (value) => ({ value, text: String(value), bar: value / group.n, known });
    return { cells: [{ value: partTitle(group.title) }, { value: group.n, text: String(group.n), known }, count(one), count(group.n - one - other), count(other)] };
  });
  return table({ columns, rows, name: `${label}, ${names.join(" against ")}`, key: null, classes: "wins" }).holder;
}

function foundList(spec, place, query) {
  const found = spec.top[place]?.[query];
  if (!found?.length) return make("p", { class: "soft" }, "No ranking was saved next to the result.");
  return make("ol", {}, ...found.map(([document, relevant]) => make("li", { class: relevant ? "relevant" : null }, make("span", { class: "verdict" }, relevant ? "✓ relevant" : "not relevant"), ` ${document}`, spec.documents[document] ? make("span", { class: "soft" }, ` ${spec.documents[document]}`) : null)));
}

function queryNode(spec, query, first, second) {
  const score = (place) => fixed(spec.scores[place][query] / 1e4);
  const names = [first, second].map((place) => runs[spec.runs[place]].label);
  const show = (event) => keep("query", event.target.open ? spec.queries[query] : "");
  return make("details", { class: "query", open: kept("query") === spec.queries[query], ontoggle: show },
    make("summary", {}, make("strong", {}, spec.queries[query]), ` ${score(first)} against ${score(second)}`, spec.texts.length ? make("span", { class: "soft" }, ` ${cut(spec.texts[query], 420)}`) : null),
    spec.texts.length ? make("p", {}, spec.texts[query]) : null,
    spec.top.length ? make("div", { class: "sides" }, ...[first, second].map((place, at) => make("div", {}, make("h4", {}, names[at]), foundList(spec, place, query)))) : make("p", { class: "soft" }, "First documents are shown for the headline task, if its rankings are next to the results (run --save-runs)."));
}

function explorer(tab, wanted) {
  const state = { spec: tab.explorers[0], first: 0, second: 1 };
  const holder = make("div");
  const pickers = make("div", { class: "controls" });

  function bestTwo() {
    const task = tab.tasks.findIndex((one) => one.name === state.spec.task);
    const value = (place) => tab.values[""][tab.runs.indexOf(state.spec.runs[place])]?.[task] ?? -1;
    [state.first, state.second] = state.spec.runs.map((_, place) => place).sort((a, b) => value(b) - value(a));
  }

  function paint() {
    const { spec, first, second } = state;
    const label = tab.tasks.find((task) => task.name === spec.task).short;
    if (first === second) return replace(holder, make("p", { class: "missing" }, "Choose two different models."));
    const gap = (query) => spec.scores[first][query] - spec.scores[second][query];
    const queries = spec.queries.map((_, query) => query);
    const sides = [[first, queries.filter((query) => gap(query) > 0).sort((a, b) => gap(b) - gap(a))], [second, queries.filter((query) => gap(query) < 0).sort((a, b) => gap(a) - gap(b))]];
    const lists = sides.map(([place, members]) => make("section", {}, make("h3", {}, `${runs[spec.runs[place]].label} is better`), members.length ? null : make("p", { class: "missing" }, "on none of the queries shown"), ...members.slice(0, 5).map((query) => queryNode(spec, query, first, second))));
    replace(holder, winsTable(spec, first, second, label), make("div", { class: "sides" }, ...lists), spec.texts.length ? "" : make("p", { class: "soft" }, `Texts are shown for the headline task, where the licence of the data (${tab.licence}) allows it and they were read for this page (report --texts).`));
  }

  function pick() {
    const models = state.spec.runs.map((run, place) => [String(place), runs[run].label]);
    const model = (key, side) => choice(key, models, "", (value) => { state[side] = Number(value); paint(); });
    pickers.replaceChildren(
      labelled("explored", "Task", choice("task", tab.explorers.map((spec, at) => [String(at), tab.tasks.find((task) => task.name === spec.task).short]), "0", (value) => { ask(Number(value)); })),
      labelled("first-model", "Model", model("first", "first")),
      labelled("second-model", "against", model("second", "second")));
    pickers.querySelector("#first-model").value = String(state.first);
    pickers.querySelector("#second-model").value = String(state.second);
    paint();
  }

  /** Show a task with its two best models, or with others. */
  function ask(task, first = "", second = "") {
    state.spec = tab.explorers[task] ?? tab.explorers[0];
    bestTwo();
    if (first !== "" && Number(first) in state.spec.runs) state.first = Number(first);
    if (second !== "" && Number(second) in state.spec.runs) state.second = Number(second);
    keep("task", tab.explorers.indexOf(state.spec), 0);
    keep("first", first);
    keep("second", second);
    pick();
  }

  if (wanted) {
    const at = tab.explorers.findIndex((spec) => spec.task === wanted.task);
    const run = tab.explorers[at].runs.indexOf(wanted.run);
    state.spec = tab.explorers[at];
    bestTwo();
    ask(at, "", run === state.first ? "" : String(run));
  } else ask(Number(kept("task", "0")), kept("first"), kept("second"));
  return [make("p", { class: "soft" }, "Of every two models the queries on which they differ most; a query is won by the higher score."), pickers, holder];
}

// A number opens its task here, by Enter or two clicks.
function explorable(tab, box) {
  const open = (event) => {
    const wanted = knownOf(event.target)?.known.explore;
    if (!wanted || (event.type === "keydown" && event.key !== "Enter")) return;
    keep("queries", "open");
    const part = folded("Query by query", () => explorer(tab, wanted), false, "queries");
    replace(box.node);
    box.node.replaceWith(part);
    box.node = part;
    part.scrollIntoView();
    part.querySelector("summary").focus();
  };
  return (node) => fill(node, { ondblclick: open, onkeydown: open }, []);
}
