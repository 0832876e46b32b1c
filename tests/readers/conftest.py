"""The table of the recorded files that were read a second way. ``pytest -m "" tests/readers`` prints it at its end."""

import pytest

COMPARED = pytest.StashKey()


@pytest.fixture
def compared(request):
    """Notes the records of a file, the fields that were compared, and how many of them are equal."""
    files = request.config.stash.setdefault(COMPARED, {})

    def note(file, records, fields, equal):
        files[file] = max(files.get(file, ()), (records, fields, equal))  # two tests may read a file

    return note


def pytest_terminal_summary(terminalreporter, config):
    if files := config.stash.get(COMPARED, {}):
        total = [sum(counts) for counts in zip(*files.values(), strict=True)]
        terminalreporter.section("recorded files read a second way")
        for file, counts in [("file", ("records", "fields", "equal")), *sorted(files.items()), ("all", total)]:
            terminalreporter.line(f"{file:50}" + "".join(f"{count:>10}" for count in counts))
