"""The list of models joins what the paper prints with what mteb and the suite can load."""

import mteb

from patent_mteb import cli, published
from patent_mteb.models.registry import METAS, models


def test_every_model_of_the_paper_and_of_the_suite_stands_once():
    rows = models()
    printed = published.printed("wipo_at", 3)
    assert [row.printed for row in rows[: printed.height]] == printed["model"].to_list()
    names = [row.model for row in rows if row.model]
    assert len(names) == len(set(names))
    assert {meta.name for meta in METAS} <= set(names)


def test_figures_are_those_of_mtebs_registry_next_to_the_papers(capsys):
    """WIPO-AT's Table 3 prints 3,584 dimensions for Qwen3-Embedding-8B; mteb's registry has 4,096."""
    row = next(row for row in models() if row.model == "Qwen/Qwen3-Embedding-8B")
    meta = mteb.get_model_meta("Qwen/Qwen3-Embedding-8B")
    assert (row.dims, row.max_tokens) == (meta.embed_dim, meta.max_tokens)
    assert row.paper_dims == 3584 != row.dims
    assert cli.main(["list", "models"]) == 0
    assert "4096 (3584)" in capsys.readouterr().out


def test_yes_means_that_mteb_knows_the_model():
    known = {meta.name for meta in mteb.get_model_metas()}
    for row in models():
        assert (row.runs == "yes") == (row.model in known)
        assert row.runs in ("yes", "by hub id", "no: not released")
        assert (row.runs == "no: not released") == (row.model == "")
