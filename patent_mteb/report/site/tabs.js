// The tabs, and the address that opens one.

const panel = document.getElementById("panel");
const tablist = document.querySelector("[role=tablist]");
const PAGES = { front, benchmark };
let opened = null;

function open(id, focus) {
  if (opened) forgetTab();
  const tab = data.tabs.find((one) => one.id === id) ?? data.tabs[0];
  const write = opened ? "pushState" : "replaceState";
  opened = tab.id;
  writeAddress(write);
  for (const button of tablist.children) {
    const chosen = button.id === `tab-${tab.id}`;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
    if (chosen && focus) button.focus();
    if (chosen) tablist.scrollLeft = button.offsetLeft - tablist.offsetLeft - (tablist.clientWidth - button.offsetWidth) / 2;
  }
  panel.setAttribute("aria-labelledby", `tab-${tab.id}`);
  forgetListeners();
  replace(panel,
    ...[make("h2", { class: "heading" }, tab.label), tab.banner ? make("p", { class: "banner" }, tab.banner) : null, ...PAGES[tab.kind](tab), ...(tab.kind === "front" ? notes(tab.notes) : [])].filter(Boolean));
  reachAll();
  hide();
}

function route() {
  const id = readAddress();
  opened = null; // the choices are those of the address, and not those of the tables that go
  forgetListeners();
  display.sure = kept("digits") === "four";
  restoreFilter();
  open(id, false);
}
tablist.append(...data.tabs.map((tab) => make("button", { type: "button", role: "tab", id: `tab-${tab.id}`, "aria-controls": "panel", onclick: () => open(tab.id, true) }, tab.label)));
tablist.addEventListener("keydown", (event) => {
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const place = [...tablist.children].indexOf(document.activeElement);
  tablist.children[(place + step + tablist.children.length) % tablist.children.length].click();
});
document.getElementById("made").textContent = data.about;
document.getElementById("small").textContent = data.small;
if (data.messages.length) {
  const box = document.getElementById("messages");
  box.hidden = false;
  box.querySelector("summary").textContent = `${data.messages.length} note${data.messages.length > 1 ? "s" : ""} on what was excluded`;
  box.querySelector("ul").append(...data.messages.map((message) => make("li", {}, message)));
}
addEventListener("hashchange", route);
route();
document.documentElement.dataset.ready = "yes";
