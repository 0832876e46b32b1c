// What test_page.py does with the page, in one frame after the other, and what it sees.

const table = (frame) => one(frame, "main table");
const rows = (frame, of = table(frame)) => [...of.querySelectorAll("tbody tr")];
const column = (frame, place) => rows(frame).map((row) => row.cells[place].firstChild.textContent);
const headCells = (frame, of = table(frame)) => [...of.querySelectorAll("thead th")];
const heads = (frame) => headCells(frame).map((head) => head.textContent);

async function set(frame, selector, value, kind) {
  const field = one(frame, selector);
  field.value = value;
  field.dispatchEvent(new frame.contentWindow.Event(kind));
  await settle();
}

async function press(frame, key) {
  const options = { key, bubbles: true, cancelable: true };
  frame.contentDocument.activeElement.dispatchEvent(new frame.contentWindow.KeyboardEvent("keydown", options));
  await settle();
}

function lookForKnown(frame, seen) {
  const numbers = all(frame, "main td.number").filter((node) => /\d/.test(node.textContent));
  seen.said += numbers.filter((node) => node.known).length;
  seen.unsaid.push(...numbers.filter((node) => !node.known || !node.known.lines().length).map((node) => node.outerHTML));
}

async function openEveryTab(frame, seen) {
  for (const label of seen.tabs) {
    await click(frame, label, "[role=tab]");
    await settle(300);
    seen.overflow.push(overflow(frame));
    seen[label] = {
      heading: one(frame, "h2").textContent,
      banner: one(frame, ".banner")?.textContent ?? "",
      charts: all(frame, "main figure svg").length,
      jobs: all(frame, ".jobs tbody th a").map((node) => node.textContent),
      selected: all(frame, "[role=tab][aria-selected=true]").map((tab) => tab.textContent),
      hash: frame.contentWindow.location.hash,
    };
    lookForKnown(frame, seen);
    seen.cutText.push(...cutText(frame));
  }
}

async function openPublished(frame, seen) {
  const box = all(frame, "details.part").find((node) => node.textContent.includes("with measured rows"));
  const folded = !box.open && !box.querySelector("table");
  box.open = true;
  await settle(200);
  seen.published = { folded, text: box.querySelector("table").innerText };
  lookForKnown(frame, seen);
}

async function sortAndFilter(frame, seen, place) {
  headCells(frame)[place].click();
  await settle();
  seen.descending = column(frame, place);
  seen.sorted = headCells(frame)[place].getAttribute("aria-sort");
  headCells(frame)[place].click();
  await settle();
  seen.ascending = column(frame, place);
  headCells(frame)[place].click(); // the order stays in the slices
  await settle();
  await set(frame, "#filter", "ACME  small", "input");
  seen.filtered = column(frame, 0);
  await set(frame, "#filter", "nothing fits this", "input");
  seen.none = column(frame, 0);
  await set(frame, "#filter", "", "input");
  const paths = () => one(frame, "main figure svg").querySelectorAll("rect").length / 2;
  seen.drawn = { all: Math.min(3, paths()) };
  await set(frame, "#filter-licence", "=mit", "change").catch(() => null);
  await set(frame, "#filter-trained", "=WIPO-AT (1)", "change");
  await settle(200);
  seen.licensed = column(frame, 0);
  seen.drawn.licensed = paths();
  await set(frame, "#filter-trained", "", "change");
  await click(frame, "Columns", ".tools button").catch(() => one(frame, ".tools button").click());
  await settle(300);
  seen.choosable = all(frame, ".dt-button-collection button").map((node) => node.textContent.trim());
  one(frame, ".dt-button-background")?.click();
  await settle(500);
}

async function switchSlices(frame, seen) {
  const first = seen.heads.findIndex((head) => head.startsWith("Retrieval") && head.endsWith("TAC→TAC"));
  for (const label of ["IN", "OUT", "Gap", "All"]) {
    await click(frame, label, ".switch button");
    seen[label] = column(frame, label === "All" ? first : heads(frame).findIndex((head) => head.endsWith("TAC→TAC")));
  }
  seen.slices = [...one(frame, "#slice").options].map((option) => option.value);
  await set(frame, "#slice", "jurisdiction_jp", "change");
  seen.slice = Object.fromEntries(rows(frame).map((row) => [row.cells[0].textContent, row.cells[1].firstChild.textContent]));
  await click(frame, "All", ".switch button");
  seen.names = column(frame, 0);
  seen.terms = all(frame, ".terms dt").map((node) => node.textContent);
  seen.trained = rows(frame).filter((row) => row.textContent.includes("‡")).map((row) => row.cells[0].textContent);
  const box = all(frame, "details.part").find((node) => node.textContent.startsWith("By slice"));
  box.open = true;
  await settle(200);
  const made = box.querySelector("table");
  const place = headCells(frame, made).findIndex((head) => head.textContent.endsWith("RU"));
  seen.bySlice = Object.fromEntries(rows(frame, made).map((row) => [row.cells[0].textContent, row.cells[place].firstChild.textContent]));
  await click(frame, "four, with intervals", ".switch button");
  seen.withInterval = table(frame).innerText;
  await click(frame, "as sure", ".switch button");
}

async function lookBehindNumbers(frame, seen, place) {
  const tip = one(frame, "#tip");
  const cell = rows(frame)[0].cells[place];
  cell.focus();
  await settle();
  seen.tip = tip.innerText;
  seen.tipShown = !tip.hidden;
  const box = tip.getBoundingClientRect();
  const { innerWidth, innerHeight } = frame.contentWindow;
  seen.tipInside = box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
  await press(frame, "ArrowRight");
  seen.moved = frame.contentDocument.activeElement.cellIndex - place;
  seen.tipMoved = tip.innerText;
  await press(frame, "Escape");
  seen.tipClosed = tip.hidden;
  cell.dispatchEvent(new frame.contentWindow.MouseEvent("mouseover", { bubbles: true }));
  await settle();
  seen.tipHover = !tip.hidden;
  cell.focus();
  await press(frame, "Enter");
  await settle(200);
  const asked = all(frame, "details.part").find((node) => node.textContent.startsWith("Query by query"));
  seen.explored = {
    open: asked.open,
    models: ["#first-model", "#second-model"].map((id) => asked.querySelector(id).selectedOptions[0].textContent),
    wins: rows(frame, asked.querySelector("table"))[0].innerText.split(/\s+/).filter((word) => /^\d+$/.test(word)).map(Number),
    queries: asked.querySelectorAll(".query").length,
  };
}

function checkSizes(frame, seen) {
  const size = (node) => parseFloat(frame.contentWindow.getComputedStyle(node).fontSize);
  const texts = all(frame, "main *, header *").filter((node) => !node.childElementCount && node.textContent.trim() && node.getClientRects().length);
  seen.small = texts.filter((node) => !node.closest("sup") && size(node) < 11.5).map((node) => node.textContent);
  const targets = all(frame, "[role=tab], .switch button, select, input").filter((node) => node.offsetParent && !node.closest("figure"));
  seen.tiny = targets.filter((node) => node.getBoundingClientRect().height < 38).map((node) => node.outerHTML);
  seen.ownBox = all(frame, "main .scroll").map((node) => node.getBoundingClientRect().right <= frame.contentWindow.innerWidth);
  seen.wider = all(frame, "main .scroll").some((node) => node.scrollWidth > node.clientWidth);
}

watch(async (frame) => {
  const seen = { tabs: all(frame, "[role=tab]").map((tab) => tab.textContent), overflow: [], said: 0, unsaid: [], cutText: [] };
  await openEveryTab(frame, seen);
  await click(frame, "DAPFAM", "[role=tab]");
  await openPublished(frame, seen);
  await click(frame, "WIPO-AT (sample)", "[role=tab]");
  seen.heads = heads(frame);
  const place = seen.heads.findIndex((head) => head.endsWith("TAC→TAC"));
  await sortAndFilter(frame, seen, place);
  await switchSlices(frame, seen);
  await lookBehindNumbers(frame, seen, place);
  checkSizes(frame, seen);
  all(frame, "[role=tab]")[0].focus();
  await press(frame, "ArrowRight");
  seen.keyboardTab = one(frame, "h2").textContent;
  seen.problems = frame.contentWindow.problems;
  return seen;
});
