// Every table of the page with all its columns, in every slice that its tab offers, as text.

async function showAll(holder, frame) {
  const [columns] = holder.querySelectorAll(".tools button");
  columns.click();
  await settle(20);
  for (const button of all(frame, ".dt-button-collection .dt-button:not(.dt-button-active)")) button.click();
  one(frame, ".dt-button-background")?.click();
  await settle(450); // the list of columns fades
}

function read(holder) {
  const table = holder.querySelector("table");
  const heads = [...table.querySelectorAll("thead th")].map((head) => {
    const group = head.querySelector(".group")?.textContent ?? "";
    return { group, title: head.textContent.slice(group.length), task: head.title.match(/^(\S+) \([^)]*\)/)?.[1] ?? "" };
  });
  const text = (cell) => (cell.matches(".number") ? cell.firstChild.textContent : cell.textContent);
  const state = (cell) => (cell.matches(".tied") ? "tied" : cell.textContent.includes("◦") ? "not compared" : "");
  const rows = [...table.querySelectorAll("tbody tr")].map((row) => [...row.cells].map((cell) => [text(cell), state(cell)]));
  return { part: holder.closest("details.part")?.querySelector("summary").textContent ?? "", heads, rows };
}

async function collectTables(frame, tab, seen) {
  for (const holder of all(frame, "main div.table")) {
    await showAll(holder, frame);
    seen.push({ tab, ...read(holder) });
  }
}

// The table of scores in each of the tab's slices.
async function collectSlices(frame, tab, seen) {
  const read_ = (slice) => seen.push({ tab, slice, ...read(one(frame, "main div.table")) });
  const switched = all(frame, ".switch button").filter((button) => ["in", "out", "gap"].includes(button.dataset.value));
  for (const button of switched) {
    button.click();
    await settle(20);
    read_(button.dataset.value);
  }
  const slices = one(frame, "#slice");
  for (const option of slices ? [...slices.options].slice(1) : []) {
    slices.value = option.value;
    slices.dispatchEvent(new frame.contentWindow.Event("change"));
    await settle(20);
    read_(option.value);
  }
  all(frame, ".switch button").find((button) => button.dataset.value === "")?.click();
  await settle(20);
}

// By slice: models on each task, tasks of each model; of many the first and the last.
async function collectBySlice(frame, tab, seen) {
  const box = all(frame, "details.part").find((node) => node.querySelector("summary").textContent === "By slice");
  if (!box) return;
  box.open = true;
  await settle(20);
  const about = box.querySelector("#about");
  const families = box.querySelector("#family");
  const chosen = [...about.options].filter((option, place, every) => every.length < 40 || place < 3 || place > every.length - 3);
  for (const family of families ? [...families.options].map((option) => option.value) : [""]) {
    if (families) {
      families.value = family;
      families.dispatchEvent(new frame.contentWindow.Event("change"));
    }
    for (const option of chosen) {
      about.value = option.value;
      about.dispatchEvent(new frame.contentWindow.Event("change"));
      await settle(20);
      seen.push({ tab, bySlice: option.textContent, family, ...read(box.querySelector("div.table")) });
    }
  }
  box.remove(); // its last table was read
}

// The table of jobs: a row as texts by their keys, with the digits that an interval supports and with four.
function readJobs(frame, tab, jobs) {
  for (const row of all(frame, ".jobs tbody tr")) {
    jobs.push([tab, Object.fromEntries([...row.querySelectorAll("[data-key]")].map((node) => [node.dataset.key, node.textContent]))]);
  }
}

watch(async (frame) => {
  const [tables, jobs] = [[], []];
  for (const button of all(frame, "[role=tab]")) {
    button.click();
    await settle(100);
    const tab = button.textContent;
    readJobs(frame, tab, jobs);
    if (all(frame, ".jobs").length) {
      await click(frame, "four, with intervals", ".switch button");
      readJobs(frame, tab, jobs);
      await click(frame, "as sure", ".switch button");
    }
    await collectSlices(frame, tab, tables);
    await collectBySlice(frame, tab, tables);
    for (const box of all(frame, "details.part")) if (box.querySelector("summary").textContent !== "Charts") box.open = true;
    await settle(100);
    await collectTables(frame, tab, tables);
  }
  return { tables, jobs, problems: frame.contentWindow.problems };
});
