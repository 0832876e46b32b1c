"""An evaluator for training loops of sentence-transformers, on the validation split of the training data."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator

from patent_mteb.errors import DataError
from patent_mteb.patents.views import VIEWS
from patent_mteb.recipes.graph import family_graph
from patent_mteb.recipes.sampling import random_key
from patent_mteb.training.corpus import Corpus, read_corpus


def development_evaluator(
    data: Path | str | Corpus, *, queries: int = 200, view: str = "TA", seed: int = 42, batch_size: int = 32
) -> InformationRetrievalEvaluator:
    """Return sentence-transformers' own evaluator for the search of cited patents, without texts of the test split.

    Queries are families of the validation split. Documents are one publication of every other family of the train and
    validation splits, so that a query cannot find its own family. A document is relevant if one family cites the other.

    Args:
        data: ``sample``, a directory of ``patent-mteb data build wipo_at``, or records, as for ``patent-mteb train``;
            or a corpus that was read from them.
        queries: largest number of queries; a sample by ``seed``.
        view: text of queries and documents, a key of :data:`patent_mteb.patents.views.VIEWS`.
        seed: of the sample of queries.
        batch_size: number of texts that are encoded at a time.

    Raises:
        DataError: the data cannot be read, or no citation connects a query with a document.

    Example:
        >>> from patent_mteb.training.development import development_evaluator
        >>> evaluator = development_evaluator("sample", queries=20)
        >>> evaluator.name, len(evaluator.queries)
        ('sample-validation', 20)
    """
    corpus = data if isinstance(data, Corpus) else read_corpus(data)
    text_of, families = dict[str, str](), dict[str, str]()
    for split in ("validation", "train"):
        for patent in corpus.members(split):
            families[patent.publication_number] = patent.family_id
            if text := VIEWS[view](patent):
                text_of.setdefault(patent.family_id, text)
    known = pl.DataFrame({"number": families.keys(), "family": families.values()})
    graph = family_graph(corpus.citations, known.filter(pl.col("family").is_in(text_of.keys())))
    candidates = [family for family in text_of if corpus.split[family] == "validation" and graph.linked(family)]
    chosen = set(sorted(candidates, key=lambda family: (random_key(seed, "development", family), family))[:queries])
    relevant = {family: set(linked) for family in sorted(chosen) if (linked := graph.linked(family) - chosen)}
    if not relevant:
        problem = "no citation connects a family of the validation split with another one"
        raise DataError(problem, path=corpus.folder or corpus.name, remedy="add citations")
    return InformationRetrievalEvaluator(
        {family: text_of[family] for family in relevant},
        {family: text for family, text in text_of.items() if family not in chosen},
        relevant,
        name=f"{corpus.name}-validation",
        main_score_function="cosine",
        batch_size=batch_size,
    )
