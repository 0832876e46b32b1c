"""A page of a report in headless Chromium, and what its scripts do."""

import html
import json
import re
import subprocess
from pathlib import Path
from types import MappingProxyType

RECORDER = """<script>
window.problems = [];
addEventListener("error", (event) => problems.push(String(event.message || event.target.src)), true);
addEventListener("unhandledrejection", (event) => problems.push(String(event.reason)));
addEventListener("securitypolicyviolation", (event) => problems.push("blocked " + event.blockedURI));
for (const level of ["error", "warn"]) console[level] = (...words) => problems.push(words.join(" "));
</script>"""

SCRIPTS = Path(__file__).parents[1] / "report"


def observe(browser, text, harness, folder, widths=MappingProxyType({"wide": 1280, "phone": 390}), flags=()):
    """What a script sees that uses the page in a wide window and in one of 390 pixels.

    Headless Chromium has no window so narrow; a frame has the same layout.
    """
    source = html.escape(text.replace("<head>", "<head>" + RECORDER, 1))
    frame = '<iframe id="{}" width="{}" height="844" srcdoc="{}"></iframe>'
    frames = "".join(frame.format(name, width, source) for name, width in widths.items())
    script = "".join((SCRIPTS / name).read_text() for name in ("browser.js", harness))
    wrapper = folder / "wrapper.html"
    observed = f'<pre id="observed"></pre><script>{script}</script>'
    wrapper.write_text(f'<!doctype html><meta charset="utf-8"><title>running</title>{frames}{observed}')
    command = [
        browser,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'profile'}",
    ]
    command += [
        "--window-size=1720,1000",
        "--virtual-time-budget=900000",
        "--enable-logging=stderr",
        "--dump-dom",
        *flags,
        wrapper.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    found = re.search(r'<pre id="observed">(.*?)</pre>', done.stdout, re.S)
    assert found, done.stderr[-2000:]
    assert found[1], done.stderr[-2000:]
    seen = json.loads(html.unescape(found[1]))
    seen["console"] = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return seen
