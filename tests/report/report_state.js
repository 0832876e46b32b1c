// Sets every choice that a link keeps, takes the link, and opens it in the next frame.

async function set(frame, selector, value, kind = "change") {
  const field = one(frame, selector);
  field.value = value;
  field.dispatchEvent(new frame.contentWindow.Event(kind));
  await settle(100);
}

const part = (frame, title) => all(frame, "details.part").find((node) => node.querySelector("summary").textContent === title);

async function choose(frame) {
  await click(frame, "WIPO-AT (sample)", "[role=tab]");
  await set(frame, "#filter", "acme", "input");
  await click(frame, "four, with intervals", ".switch button");
  await set(frame, "#slice", "jurisdiction_jp");
  one(frame, "main table thead th:nth-child(2)").click();
  await settle();
  one(frame, ".tools button").click();
  await settle(300);
  all(frame, ".dt-button-collection .dt-button:not(.dt-button-active)")[0].click();
  one(frame, ".dt-button-background")?.click();
  await settle(500);
  part(frame, "By slice").open = true;
  await settle(100);
  await set(frame, "#about", "model 1");
  part(frame, "Query by query").open = true;
  await settle(100);
  await set(frame, "#explored", "1");
  await set(frame, "#first-model", "2");
  await set(frame, "#second-model", "0");
  one(frame, "details.query").open = true;
  await settle(100);
}

function look(frame) {
  const field = (selector) => one(frame, selector).value;
  const table = one(frame, "main table");
  return {
    tab: one(frame, "h2").textContent,
    fields: ["#filter", "#about", "#slice", "#explored", "#first-model", "#second-model"].map(field),
    digits: all(frame, ".switch button[aria-pressed=true]").map((node) => node.textContent),
    sorted: [...table.querySelectorAll("thead th")].map((head) => head.getAttribute("aria-sort")),
    heads: [...table.querySelectorAll("thead th")].map((head) => head.textContent),
    rows: [...table.querySelectorAll("tbody tr")].map((row) => row.textContent),
    open: all(frame, "details.part[open] summary, details.query[open] summary").map((node) => node.textContent),
  };
}

watch(async (frame) => {
  const defaults = frame.contentWindow.location.hash;
  if (!observed.wide) await choose(frame);
  else {
    frame.contentWindow.location.hash = observed.wide.link;
    await settle(400);
  }
  return { defaults, link: frame.contentWindow.location.hash, state: look(frame), problems: frame.contentWindow.problems };
});
