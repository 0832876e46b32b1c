"""Invalid embeddings are refused by name; valid ones are returned unchanged."""

from __future__ import annotations

import contextlib
import logging

import numpy as np
import pytest
import scipy.sparse
import torch
from small_patents import Words

from patent_mteb.errors import ModelError
from patent_mteb.model_identity.loaded import components, model_facts
from patent_mteb.search.vectors import Checked, as_tensor, checked_vectors, parts

SOUND = np.random.default_rng(0).standard_normal((9000, 3)).astype(np.float32)


@pytest.mark.parametrize(
    "form", [np.asarray, torch.as_tensor, lambda v: v.astype(np.int8), lambda v: torch.as_tensor(v).half()]
)
def test_vectors_are_handed_on_as_they_were_given(form, caplog):
    given = form(SOUND)
    with caplog.at_level(logging.WARNING, logger="patent_mteb"):
        assert checked_vectors(given, 9000, "m") is given or torch.equal(checked_vectors(given, 9000, "m"), given)
    assert not caplog.text


@pytest.mark.parametrize("form", [list, tuple, lambda v: list(torch.as_tensor(v)), lambda v: v.astype(object)])
def test_a_list_of_vectors_becomes_a_matrix(form):
    np.testing.assert_array_equal(np.asarray(checked_vectors(form(SOUND), 9000, "m")), SOUND)


def test_a_gradient_is_left_behind():
    given = torch.as_tensor(SOUND).requires_grad_()
    found = checked_vectors(given, 9000, "m")
    assert not found.requires_grad and torch.equal(found, given)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("row", [0, 4095, 4096, 8999])
def test_one_row_that_has_no_length(value, row):
    broken = SOUND.copy()
    broken[row] = value
    for form in (np.asarray, torch.as_tensor):
        said = rf"^m gave NaN or infinite vectors for 1 of 9000 texts, the first is text {row + 1}\.$"
        with pytest.raises(ModelError, match=said):
            checked_vectors(form(broken), 9000, "m")


@pytest.mark.parametrize("scale", [1e-13, 1e-30, 1e-44, 1e-200])
def test_vectors_too_short_for_a_cosine_are_refused_and_zeros_are_not(scale):
    """torch divides by 1e-12 at least: such vectors would be ordered by their length, or have no order."""
    given = np.array([[1.0, 2.0], [0.0, -0.0], [3.0, 1.0]]) * np.array([[1.0], [1.0], [scale]])
    with pytest.raises(
        ModelError, match=r"shorter than 1e-12, which have no cosine .* 1 of 3 texts, the first is text 3"
    ):
        checked_vectors(given, 3, "m")
    assert len(checked_vectors(given[:2], 2, "m")) == 2


def test_numbers_of_more_than_double_precision_are_read():
    assert checked_vectors(SOUND.astype(np.longdouble), 9000, "m").dtype == np.float64


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "gave a NoneType instead of vectors"),
        ((row for row in SOUND), "gave a generator instead of vectors"),
        (3.0, "gave a float instead of vectors"),
        (np.array(3.0), "gave an array of shape \\(\\) for 9000 texts"),
        (SOUND[1:], "gave 8999 vectors for 9000 texts"),
        (list(SOUND[1:]), "gave 8999 vectors for 9000 texts"),
        (SOUND[:, :0], "gave an array of shape \\(9000, 0\\) for 9000 texts"),
        (SOUND[:, None], "gave an array of shape \\(9000, 1, 3\\)"),
        (SOUND[:, 0], "gave an array of shape \\(9000,\\)"),
        (torch.as_tensor(SOUND).to_sparse(), "gave a tensor of layout torch.sparse_coo"),
        (torch.as_tensor(SOUND).to_sparse_csr(), "gave a tensor of layout torch.sparse_csr"),
        (torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]), "gave a nested tensor"),
        (torch.as_tensor(SOUND).to("meta"), "gave a tensor without values"),
        (torch.as_tensor(SOUND).cfloat(), "gave a tensor of torch.complex64"),
        (scipy.sparse.csr_matrix(SOUND), "gave a SciPy matrix"),
        (scipy.sparse.coo_array(SOUND), "gave a SciPy matrix"),
        ([row[: 1 + place % 2] for place, row in enumerate(SOUND)], "gave a list that is not an array"),
        ([torch.as_tensor(row[: 1 + place % 2]) for place, row in enumerate(SOUND)], "gave a list that is not an arr"),
        (SOUND.astype(str), "gave an array of <U"),
        ({"dense": SOUND}, "gave a dict that is not an array"),
    ],
)
def test_what_is_no_embedding(given, message):
    with pytest.raises(ModelError, match=message):
        checked_vectors(given, 9000, "m")


def test_equal_vectors_of_different_texts_are_refused():
    same = np.ones((5000, 2), np.float32)
    last = same.copy()
    last[-1, 1] += 1
    for vectors, refused in (
        (same, True),
        (torch.as_tensor(same) * 0, True),
        (same[:10], True),
        (last, False),
        (same[:1], False),
        (SOUND, False),
    ):
        with pytest.raises(ModelError, match="gave the same vector for all") if refused else contextlib.nullcontext():
            checked_vectors(vectors, len(vectors), "m")


def test_equal_vectors_of_few_texts_are_said(caplog):
    same = np.ones((5000, 2), np.float32)
    for vectors, texts in ((same[:9], None), (same, lambda rows: [f"text {row % 9}" for row in rows])):
        caplog.clear()
        checked_vectors(vectors, len(vectors), "m", texts)
        assert f"m gave the same vector for all {len(vectors)} texts: its score is meaningless" in caplog.text
    with pytest.raises(ModelError, match="same vector for all"):
        checked_vectors(same, len(same), "m", lambda rows: [f"text {row % 10}" for row in rows])


def test_vectors_of_zeros_are_counted(caplog):
    vectors = np.ones((20, 2), np.float32)
    vectors[[3, 7]] = 0
    checked_vectors(vectors, 20, "m")
    assert "m gave vectors of zeros for 2 of 20 texts, the first is text 4" in caplog.text
    caplog.clear()
    checked_vectors(vectors.astype(np.int8), 20, "codes")
    assert not caplog.text


def test_who_asks_what_a_checked_model_is_made_of_finds_the_model():
    model = Words()
    assert components(Checked(model)) == [model] and Checked(model).mteb_model_meta is model.mteb_model_meta
    assert model_facts(Checked(model)) == model_facts(model)


def test_parts_of_an_array_are_the_array():
    assert torch.equal(torch.cat([as_tensor(part) for part in parts(SOUND.astype(np.float64))]), torch.as_tensor(SOUND))
