// What the address after "#" says: the tab, and each choice that is not the default. A link restores the page.
// Filters and digits hold for all tabs; other choices are of the tab that is open.

const EVERYWHERE = /^(filter|digits)/;
let chosen = new URLSearchParams();

/** The choice of a control, else its default. */
const kept = (key, start = "") => chosen.get(key) ?? start;

/** Remember a choice; the default is not written. */
function keep(key, value, start = "") {
  if (String(value) === String(start)) chosen.delete(key);
  else chosen.set(key, value);
  writeAddress();
}

/** Write the address; a new tab is a new entry of the history. */
function writeAddress(write = "replaceState") {
  const said = chosen.toString();
  history[write](null, "", `${location.href.split("#")[0]}#${opened}${said ? `?${said}` : ""}`);
}

/** Read the address: the id of its tab, whose choices replace the present ones. */
function readAddress() {
  const [id, said] = location.hash.slice(1).split("?");
  chosen = new URLSearchParams(said ?? "");
  return id;
}

function forgetTab() {
  for (const key of [...chosen.keys()]) if (!EVERYWHERE.test(key)) chosen.delete(key);
}
