"""Threshold and scores against scikit-learn; scorers against the same models called by hand."""

import numpy as np
import pytest
from classes import these_first
from sklearn.metrics import f1_score
from tiny_checkpoints import write_cross_encoder

from patent_mteb.protocols.zero_shot import (
    HYPOTHESIS,
    best_threshold,
    cross_encoder_scorer,
    nli_scorer,
    tagger_scorer,
    zero_shot,
)

CLASSES = ["drones", "batteries", "vision", "rail"]


def split(seed, n=40, decimals=None):
    rng = np.random.default_rng(seed)
    labels = rng.random((n, 4)) < [0.4, 0.2, 0.1, 0.3]
    scores = np.clip(labels * 0.3 + rng.random((n, 4)) * 0.7, 0, 1)
    return (scores if decimals is None else scores.round(decimals)), labels


def naive_best(scores, labels):
    """(threshold, macro F1) by trying every observed score."""
    tried = [(f1_score(labels, scores >= t, average="macro", zero_division=0), t) for t in np.unique(scores)]
    macro, threshold = max((round(macro, 12), t) for macro, t in tried)
    return threshold, macro


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [None, 2, 1, 0])
@pytest.mark.parametrize("seed", these_first(range(4), 0))
def test_threshold_equals_trying_every_score(seed, decimals):
    scores, labels = split(seed, decimals=decimals)
    threshold, macro = best_threshold(scores, labels)
    expected = naive_best(scores, labels)
    assert (threshold, macro) == (expected[0], pytest.approx(expected[1], abs=1e-12))


def test_threshold_edge_cases():
    assert best_threshold([[0.3], [0.9], [0.5]], [[1], [1], [1]]) == (0.3, 1)
    assert best_threshold([[0.3], [0.9], [0.5]], [[0], [0], [0]]) == (0.9, 0)
    assert best_threshold([[0.5], [0.5]], [[1], [0]]) == (0.5, pytest.approx(2 / 3))


def test_protocol_equals_a_naive_script():
    (val_scores, val_labels), (test_scores, test_labels) = split(10), split(11)
    by_text = {f"v{i}": row for i, row in enumerate(val_scores)} | {f"t{i}": row for i, row in enumerate(test_scores)}

    def scorer(texts, labels):
        assert list(labels) == CLASSES
        return [by_text[text] for text in texts]

    result = zero_shot(
        scorer, ([f"v{i}" for i in range(40)], val_labels), ([f"t{i}" for i in range(40)], test_labels), CLASSES
    )
    threshold, macro = naive_best(val_scores, val_labels)
    assert result.threshold == threshold and result.validation_f1 == pytest.approx(macro, abs=1e-12)
    expected = f1_score(test_labels, test_scores >= threshold, average=None)
    assert result.macro_f1 == pytest.approx(expected.mean(), abs=1e-9) and 0.3 < result.macro_f1 < 1
    np.testing.assert_allclose([result.f1[name] for name in CLASSES], expected, atol=1e-9)
    np.testing.assert_array_equal(result.predicted, test_scores >= threshold)


def test_nli_scorer_by_hand(monkeypatch):
    """Logits are lengths: contradiction, entailment, neutral; e^1 / (e^1 + e^0) however large neutral is."""
    monkeypatch.setattr("patent_mteb.protocols.zero_shot._TEXTS_AT_ONCE", 2)
    seen = []

    def logits(pairs):
        seen.extend(pairs)
        return [[len(text), len(text) + len(label) - len("About x!"), 99.0] for text, label in pairs]

    score = nli_scorer(logits, entailment=1, contradiction=0, hypothesis="About {}!")
    got = score(["a", "bb", "ccc"], ["x", "xy"])
    np.testing.assert_allclose(got, [[0.5, 1 / (1 + np.exp(-1))]] * 3)
    assert seen[:2] == [("a", "About x!"), ("a", "About xy!")] and len(seen) == 6
    got = nli_scorer(lambda pairs: [[0.0, 0.0, np.log(2)]] * len(pairs), entailment=2)(["a"], ["x"])
    assert got[0, 0] == pytest.approx(0.5)


@pytest.mark.parametrize("names", [("entailment", "neutral", "contradiction"), ("entailment", "not_entailment")])
def test_cross_encoder_scores_are_the_models(tmp_path, names):
    import torch
    from sentence_transformers import CrossEncoder

    model = CrossEncoder(str(write_cross_encoder(tmp_path / "nli", labels=len(names))), device="cpu")
    model.config.label2id = {name: place for place, name in enumerate(names)}
    texts, labels = ["rotor with a blade", "pump and valve", "a lens"], ["motor", "seal", "gear"]
    got = cross_encoder_scorer(model)(texts, labels)
    for row, text in enumerate(texts):
        for column, label in enumerate(labels):
            encoded = model.tokenizer(text, HYPOTHESIS.format(label), return_tensors="pt")
            with torch.no_grad():
                logits = model.model(**encoded).logits[0].double()
            pair = logits[[0, len(names) - 1]]
            assert got[row, column] == pytest.approx(torch.softmax(pair, 0)[0].item(), abs=1e-5)
    assert got.std() > 1e-3
    model.config.label2id = {"a": 0, "b": 1}
    with pytest.raises(ValueError, match=r"one class named entailment; this one has \['a', 'b'\]"):
        cross_encoder_scorer(model)


def test_tagger_scorer():
    found = {"t1": [("rail", 0.2), ("rail", 0.7), ("vision", 0.1)], "t2": []}
    got = tagger_scorer(lambda text, labels: found[text])(["t1", "t2"], CLASSES)
    assert got.tolist() == [[0, 0, 0.1, 0.7], [0, 0, 0, 0]]
    with pytest.raises(ValueError, match="found 'rail', which is not among the 1 labels"):
        tagger_scorer(lambda text, labels: found[text])(["t1"], ["drones"])


def test_bad_input_is_refused():
    scores, labels = split(0)
    texts = [str(i) for i in range(40)]
    with pytest.raises(ValueError, match="1 scores are NaN or infinite, first that of text 5"):
        best_threshold(np.where((np.arange(160) == 21).reshape(40, 4), np.nan, scores), labels)
    with pytest.raises(ValueError, match=r"scores of shape \(40, 3\) for 40 texts and 4 labels"):
        zero_shot(lambda texts, labels: scores[:, :3], (texts, labels), (texts, labels), CLASSES)
    with pytest.raises(ValueError, match=r"test labels must be \[40"):
        zero_shot(lambda texts, labels: scores, (texts, labels), (texts, labels[1:]), CLASSES)
    with pytest.raises(ValueError, match=r"needs a \{\} where the label goes"):
        nli_scorer(lambda pairs: [], entailment=0, hypothesis="nothing")
