"""Every loss on a hand-made batch against NumPy, written from the papers' equations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from sentence_transformers import SentenceTransformer
from small_bases import write_bert, write_static

from patent_mteb.errors import DataError
from patent_mteb.training.bases import is_static, make_loss
from patent_mteb.training.recipes import Settings

ANCHORS = ["a pump with a rotor", "a device for a wheelchair", "the user and the signal", "a sensor on a cane"]
POSITIVES = ["the rotor of the pump", "wheelchair device", "a signal for the user", "cane and sensor"]


@pytest.fixture(scope="module", params=["static", "bert"])
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("bases") / request.param
    write = write_static if request.param == "static" else write_bert
    return SentenceTransformer(str(write(folder)), device="cpu").eval()


def vectors(model, texts):
    return model.encode(texts, convert_to_numpy=True).astype(np.float64)


def cosines(first, second):
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second)]
    return unit[0] @ unit[1].T


def of_batch(loss, model, columns, labels=None):
    features = [model.preprocess(texts) for texts in columns]
    return float(loss(features, labels).detach())


@pytest.mark.parametrize("temperature", [0.05, 0.5])
@pytest.mark.parametrize("symmetric", [False, True])
def test_ranking(model, temperature, symmetric):
    """PatenTEB eq. 1, PatentMap eq. 1; the symmetric one is the mean log-partition of both sides."""
    scores = cosines(vectors(model, ANCHORS), vectors(model, POSITIVES)) / temperature
    log_z = logsumexp(scores, axis=1)
    if symmetric:
        log_z = (log_z + logsumexp(scores, axis=0)) / 2
    loss = make_loss("ranking", model, Settings(temperature=temperature, symmetric=symmetric, mini_batch=3))
    assert of_batch(loss, model, [ANCHORS, POSITIVES]) == pytest.approx(np.mean(log_z - np.diag(scores)), abs=1e-5)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("bases") / "bert")


@pytest.mark.parametrize(
    "settings", [{"mini_batch": 3}, {"mini_batch_tokens": 9}, {"mini_batch": 2, "symmetric": True}]
)
def test_mini_batches_give_the_gradient_of_the_whole_batch(bert, settings):
    def gradients(**options):
        model = SentenceTransformer(str(bert), device="cpu").eval()
        loss = make_loss("ranking", model, Settings(batch=4, **{"mini_batch": 4, **options}))
        value = loss([model.preprocess(texts) for texts in (ANCHORS, POSITIVES)], None)
        value.backward()
        name = type(loss).__name__
        return (
            name,
            value.item(),
            torch.cat([weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]),
        )

    plain, cached = gradients(symmetric=settings.get("symmetric", False)), gradients(**settings)
    assert (plain[0], cached[0]) == ("MultipleNegativesRankingLoss", "CachedMultipleNegativesRankingLoss")
    assert plain[1] == pytest.approx(cached[1], abs=1e-6)
    np.testing.assert_allclose(plain[2], cached[2], atol=1e-5)


def test_a_guide_excludes_false_negatives(bert, tmp_path):
    """GIST: candidates that the guide scores above the positive are excluded; queries and documents are candidates too."""
    guide_folder = write_bert(tmp_path / "guide", seed=3, spread=0.5)
    model, guide = (SentenceTransformer(str(one), device="cpu").eval() for one in (bert, guide_folder))
    mine = [vectors(model, texts) for texts in (ANCHORS, POSITIVES)]
    its = [vectors(guide, texts) for texts in (ANCHORS, POSITIVES)]
    positive = np.diag(cosines(*its))[:, None]
    parts, excluded = [], 0
    for first, second in ((0, 1), (0, 0), (1, 1)):
        scores, guided = cosines(mine[first], mine[second]), cosines(its[first], its[second])
        hidden = guided > positive + 1e-6
        if first == second:
            hidden |= np.eye(4, dtype=bool)
        excluded += hidden.sum()
        parts.append(np.where(hidden, -np.inf, scores / 0.05))
    every = np.hstack(parts)
    expected = np.mean(np.log(np.exp(every).sum(axis=1)) - np.diag(parts[0]))
    with pytest.raises(DataError, match="a guide supports neither"):
        make_loss("ranking", model, Settings(guide=str(guide_folder), symmetric=True))
    loss = make_loss("ranking", model, Settings(guide=str(guide_folder), mini_batch=2))
    assert excluded > 8 and of_batch(loss, model, [ANCHORS, POSITIVES]) == pytest.approx(expected, abs=1e-4)


def test_contrastive_takes_the_hard_pairs(model):
    """PatenTEB eq. 2, of the pairs that the online variant keeps: positives farther than the nearest negative, and the
    reverse.
    """
    labels = np.array([1, 0, 1, 0])
    distance = 1 - np.diag(cosines(vectors(model, ANCHORS), vectors(model, POSITIVES)))
    positive, negative = distance[labels == 1], distance[labels == 0]
    hard = (positive[positive > negative.min()], negative[negative < positive.max()])
    expected = np.sum(hard[0] ** 2) + np.sum(np.maximum(0, 0.5 - hard[1]) ** 2)
    loss = make_loss("contrastive", model, Settings())
    assert of_batch(loss, model, [ANCHORS, POSITIVES], torch.tensor(labels)) == pytest.approx(expected, abs=1e-5)


def test_triplet_is_of_cosines(model):
    """PatenTEB eq. 3: hardest positive and hardest negative of each anchor, by cosine."""
    texts, labels = [*ANCHORS, *POSITIVES], np.array([0, 1, 2, 3] * 2)
    near = cosines(vectors(model, texts), vectors(model, texts))
    each = []
    for row, label in enumerate(labels):
        others = np.arange(len(texts)) != row
        hardest_positive = near[row, others & (labels == label)].min()
        hardest_negative = near[row, labels != label].max()
        each.append(np.log1p(np.exp(hardest_negative - hardest_positive)))
    loss = make_loss("triplet", model, Settings())
    assert of_batch(loss, model, [texts], torch.tensor(labels)) == pytest.approx(np.mean(each), abs=1e-5)


def test_softmax_is_on_both_vectors_and_nothing_else(model):
    """PatenTEB eq. 4: a linear layer on [u; v]."""
    torch.manual_seed(1)
    loss = make_loss("softmax", model, Settings(), n_labels=2)
    weight, bias = (
        value.detach().numpy().astype(np.float64) for value in (loss.classifier.weight, loss.classifier.bias)
    )
    assert weight.shape == (2, 2 * model.get_embedding_dimension())
    logits = np.hstack([vectors(model, ANCHORS), vectors(model, POSITIVES)]) @ weight.T + bias
    labels = np.array([0, 1, 1, 0])
    expected = np.mean(logsumexp(logits, axis=1) - logits[np.arange(4), labels])
    assert of_batch(loss, model, [ANCHORS, POSITIVES], torch.tensor(labels)) == pytest.approx(expected, abs=1e-5)


def test_mse(model):
    """PatenTEB §4.4; the library takes the mean over numbers, the paper the sum over dimensions: the factor is the
    width.
    """
    targets = np.random.default_rng(0).normal(size=(4, model.get_embedding_dimension()))
    loss = make_loss("mse", model, Settings())
    expected = np.mean((vectors(model, ANCHORS) - targets) ** 2)
    assert of_batch(loss, model, [ANCHORS], torch.tensor(targets, dtype=torch.float32)) == pytest.approx(
        expected, abs=1e-5
    )


def test_wraps_on_request(model):
    """Matryoshka: the sum of the losses of the widths; cut vectors are compared by cosine as they are."""
    first, second = vectors(model, ANCHORS), vectors(model, POSITIVES)
    expected = 0.0
    for width in (32, 8):
        scores = cosines(first[:, :width], second[:, :width]) / 0.05
        expected += np.mean(logsumexp(scores, axis=1) - np.diag(scores))
    loss = make_loss("ranking", model, Settings(matryoshka=(32, 8)))
    assert of_batch(loss, model, [ANCHORS, POSITIVES]) == pytest.approx(expected, abs=1e-4)
    if is_static(model):
        with pytest.raises(DataError, match="no layers to drop"):
            make_loss("ranking", model, Settings(layer_dropping=True))
    else:
        assert type(make_loss("ranking", model, Settings(layer_dropping=True))).__name__ == "AdaptiveLayerLoss"
