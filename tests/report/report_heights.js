// Opens every tab of a page of many models, and measures it.

watch(async (frame) => {
  const tabs = [];
  for (const button of all(frame, "[role=tab]")) {
    button.click();
    await settle(300);
    tabs.push({
      label: button.textContent,
      screens: frame.contentDocument.documentElement.scrollHeight / 844,
      overflow: overflow(frame),
      cutText: cutText(frame),
      rows: one(frame, "main div.table table").querySelectorAll("tbody tr").length,
      alive: Number(frame.contentDocument.documentElement.dataset.tables),
      tables: all(frame, "main div.table table").length,
      charts: all(frame, "main figcaption").map((node) => node.textContent),
    });
  }
  return { tabs, problems: frame.contentWindow.problems };
});
