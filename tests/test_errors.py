"""Every error of the package has a problem, its place and a remedy, as fields and as one sentence each."""

from __future__ import annotations

import ast
import pickle
from pathlib import Path

import pytest

import patent_mteb
import patent_mteb.endpoints.chat
import patent_mteb.report.collect
import patent_mteb.search.colbert
import patent_mteb.tasks.verification
from patent_mteb.errors import DataError, ModelError, PatentMTEBError


def below(kind):
    return [kind, *(one for sub in kind.__subclasses__() for one in below(sub))]


@pytest.mark.parametrize("kind", below(PatentMTEBError), ids=lambda kind: kind.__name__)
def test_every_error_keeps_its_fields_also_from_a_worker_process(kind):
    error = pickle.loads(pickle.dumps(kind("a row is empty", path="data/a.csv", row=3, remedy="delete it")))
    assert type(error) is kind and str(error) == "data/a.csv, row 3: a row is empty. Remedy: delete it."
    assert (error.problem, error.path, error.row, error.remedy) == (
        "a row is empty",
        Path("data/a.csv"),
        3,
        "delete it",
    )


def test_a_question_or_a_full_stop_ends_a_problem():
    assert str(ModelError("no model 'bm52'. Did you mean 'bm25'?", remedy="see the list")).count("?.") == 0
    assert str(ModelError(str(DataError("it is empty", remedy="fill it")))) == "it is empty. Remedy: fill it."


def test_no_error_spells_its_remedy_by_hand():
    names = {kind.__name__ for kind in below(PatentMTEBError)}
    wrong = []
    for path in Path(patent_mteb.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in names and node.args:
                texts = [one.value for one in ast.walk(node.args[0]) if isinstance(one, ast.Constant)]
                wrong += [f"{path}:{node.lineno}" for text in texts if "Remedy" in str(text)]
    assert not wrong
