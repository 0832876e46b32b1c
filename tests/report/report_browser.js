// What test_page.py does with the page, in one frame after the other, and what it sees.
"use strict";

const observed = {};
const settle = () => new Promise((resolve) => setTimeout(resolve, 30));
const all = (frame, selector) => [...frame.contentDocument.querySelectorAll(selector)];
const one = (frame, selector) => frame.contentDocument.querySelector(selector);
const table = (frame) => one(frame, "main table");
const rows = (frame) => [...table(frame).querySelectorAll("tbody tr")];
const column = (frame, place) => rows(frame).map((row) => row.cells[place].textContent);
const headButtons = (frame) => [...table(frame).querySelectorAll("thead button")];
const heads = (frame) => headButtons(frame).map((button) => button.textContent);
const overflow = (frame) => frame.contentDocument.documentElement.scrollWidth - frame.contentWindow.innerWidth;

async function click(frame, label, selector) {
  all(frame, selector).find((node) => node.textContent === label).click();
  await settle();
}

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

async function openEveryTab(frame, seen) {
  for (const label of seen.tabs) {
    await click(frame, label, "[role=tab]");
    const images = all(frame, "main img");
    await Promise.all(images.map((image) => image.decode()));
    seen.overflow.push(overflow(frame));
    seen[label] = {
      heading: one(frame, "h2").textContent,
      banner: one(frame, ".banner")?.textContent ?? "",
      images: images.length,
      loaded: images.every((image) => image.naturalWidth > 0 && image.alt.length > 0),
      selected: all(frame, "[aria-selected=true]").map((tab) => tab.textContent),
      tables: all(frame, "main table").length,
      hash: frame.contentWindow.location.hash,
    };
  }
}

async function sortAndFilter(frame, seen, place) {
  headButtons(frame)[place].click();
  await settle();
  seen.descending = column(frame, place);
  seen.sorted = headButtons(frame)[place].parentElement.getAttribute("aria-sort");
  headButtons(frame)[place].click();
  await settle();
  seen.ascending = column(frame, place);
  await set(frame, "#filter", "ACME  small", "input");
  seen.filtered = column(frame, 0);
  await set(frame, "#filter", "nothing fits this", "input");
  seen.none = column(frame, 0);
  await set(frame, "#filter", "", "input");
}

async function switchSlices(frame, seen, place) {
  for (const label of ["IN", "OUT", "Gap", "All"]) {
    await click(frame, label, ".switch button");
    seen[label] = column(frame, place - (seen.heads.length - heads(frame).length));
  }
  seen.slices = [...one(frame, "#slice").options].map((option) => option.value);
  await set(frame, "#slice", "jurisdiction_jp", "change");
  seen.slice = Object.fromEntries(rows(frame).map((row) => [row.cells[0].textContent, row.cells[1].textContent]));
  await click(frame, "All", ".switch button");
  seen.names = column(frame, 0);
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
}

function checkSizes(frame, seen) {
  const size = (node) => parseFloat(frame.contentWindow.getComputedStyle(node).fontSize);
  const texts = all(frame, "main *, header *").filter((node) => !node.childElementCount && node.textContent.trim() && node.offsetParent);
  seen.small = texts.filter((node) => !node.closest("sup") && size(node) < 12).map((node) => node.textContent);
  const targets = all(frame, "[role=tab], .switch button, select, input").filter((node) => node.offsetParent);
  seen.tiny = targets.filter((node) => node.getBoundingClientRect().height < 38).map((node) => node.outerHTML);
  seen.ownBox = all(frame, "main .scroll").map((node) => node.getBoundingClientRect().right <= frame.contentWindow.innerWidth);
  seen.wider = all(frame, "main .scroll").some((node) => node.scrollWidth > node.clientWidth);
}

async function use(frame) {
  const seen = { tabs: all(frame, "[role=tab]").map((tab) => tab.textContent), overflow: [] };
  await openEveryTab(frame, seen);
  await click(frame, "DAPFAM", "[role=tab]");
  seen.published = all(frame, "main table")[1].innerText;
  await click(frame, "WIPO-AT (sample)", "[role=tab]");
  seen.heads = heads(frame);
  const place = seen.heads.findIndex((head) => head.endsWith("TAC→TAC"));
  await sortAndFilter(frame, seen, place);
  await switchSlices(frame, seen, place);
  await lookBehindNumbers(frame, seen, place);
  checkSizes(frame, seen);
  all(frame, "[role=tab]")[0].focus();
  await press(frame, "ArrowRight");
  seen.keyboardTab = one(frame, "h2").textContent;
  seen.problems = frame.contentWindow.problems;
  return seen;
}

addEventListener("load", async () => {
  for (const frame of document.querySelectorAll("iframe")) {
    try {
      observed[frame.id] = await use(frame);
    } catch (error) {
      observed[frame.id] = { failed: `${error}\n${error.stack}`, problems: frame.contentWindow.problems };
    }
  }
  document.getElementById("observed").textContent = JSON.stringify(observed);
});
