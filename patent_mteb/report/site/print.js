// Printing: every folded part open, and every table in blocks of columns that fit the paper, each with the names of its rows.

const PER_BLOCK = 8; // columns of numbers next to each other on A4

function printedBlocks(node) {
  const rows = [...node.rows].filter((row) => row.cells.length > 1);
  const width = rows[0]?.cells.length ?? 0;
  const blocks = [];
  for (let start = 1; start < width; start += PER_BLOCK) {
    const places = [0, ...Array.from({ length: Math.min(PER_BLOCK, width - start) }, (_, at) => start + at)];
    const copy = (row) => make("tr", {}, ...places.map((at) => row.cells[at].cloneNode(true)));
    const head = rows.filter((row) => row.parentElement.tagName === "THEAD").map(copy);
    const body = rows.filter((row) => row.parentElement.tagName === "TBODY").map(copy);
    blocks.push(make("table", { class: node.className }, make("thead", {}, ...head), make("tbody", {}, ...body)));
  }
  return make("div", { class: "printed" }, ...blocks);
}

let unfolded = [];

addEventListener("beforeprint", () => {
  unfolded = [...document.querySelectorAll("main details:not([open]):not(.more, .query)")];
  for (const box of unfolded) {
    box.open = true;
    box.build?.(); // the toggle event comes after the print
  }
  for (const scroll of panel.querySelectorAll("div.table > .scroll")) scroll.after(printedBlocks(scroll.querySelector("table")));
});
addEventListener("afterprint", () => {
  for (const box of unfolded) box.open = false;
  for (const copy of panel.querySelectorAll(".printed")) copy.remove();
});
