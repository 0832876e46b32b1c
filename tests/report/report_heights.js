// Opens every tab of a page of many models, and measures it.

watch(async (frame) => {
  const tabs = [];
  for (const button of all(frame, "[role=tab]")) {
    button.click();
    await settle(300);
    tabs.push({
      label: button.textContent,
      answered: frame.contentDocument.querySelector(".pair")?.getBoundingClientRect().bottom ?? 0,
      lines: Math.max(0, ...all(frame, "main figure svg").map((svg) => svg.querySelectorAll("g.series").length)),
      screens: frame.contentDocument.documentElement.scrollHeight / 844,
      overflow: overflow(frame),
      cutText: cutText(frame),
      rows: one(frame, "main div.table table").querySelectorAll("tbody tr").length,
      alive: Number(frame.contentDocument.documentElement.dataset.tables),
      tables: all(frame, "main div.table table").length,
      charts: all(frame, "main figcaption").map((node) => (node.querySelector("small") ?? node).textContent),
    });
  }
  return { tabs, problems: frame.contentWindow.problems };
});
