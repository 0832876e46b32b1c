// What axe-core finds in every tab, with all its parts open.

watch(async (frame) => {
  const found = [];
  for (const button of all(frame, "[role=tab]")) {
    button.click();
    await settle(100);
    for (const part of all(frame, "details")) part.open = true;
    await settle(100);
    const { violations } = await frame.contentWindow.axe.run(frame.contentDocument, { resultTypes: ["violations"] });
    found.push(...violations.map((one) => `${button.textContent}: ${one.id}: ${one.nodes.length}: ${one.nodes[0].html}`));
  }
  const dark = frame.contentWindow.matchMedia("(prefers-color-scheme: dark)").matches;
  return { found, dark, problems: frame.contentWindow.problems };
});
