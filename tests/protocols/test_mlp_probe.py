"""The perceptron against its equations in NumPy, from the same start and over the same batches."""

from dataclasses import replace

import numpy as np
import pytest

from patent_mteb.protocols import precision_at
from patent_mteb.protocols.mlp_probe import PAPER_SETTINGS, Settings, held_out, mlp_probe

torch = pytest.importorskip("torch")
SMALL = Settings(hidden=16, batch_size=32, max_epochs=4, least_steps=1, learning_rate=1e-2)
THEIRS = replace(SMALL, weight_decay=0.02, clip=0.02, whole_batches=True)


def world(n, seed, classes=6, d=12):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(size=(classes, d))
    labels = rng.random((n, classes)) < 0.25
    return (rng.normal(size=(n, d)) * 0.7 + labels @ centres).astype(np.float32), labels


TRAIN, VALIDATION, TEST = world(300, 0), world(60, 1), world(90, 2)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def naive(settings):
    """(validation losses, test probabilities after each epoch) by hand-written gradients and Adam in double
    precision.
    """
    torch.manual_seed(settings.seed)
    layers = torch.nn.Linear(12, settings.hidden), torch.nn.Linear(settings.hidden, 6)
    weights = [p.detach().double().numpy().copy() for layer in layers for p in (layer.weight, layer.bias)]
    first, second = [np.zeros_like(w) for w in weights], [np.zeros_like(w) for w in weights]
    x, y = TRAIN[0].astype(float), TRAIN[1].astype(float)

    def forward(rows):
        hidden = np.maximum(rows @ weights[0].T + weights[1], 0)
        return hidden, sigmoid(hidden @ weights[2].T + weights[3])

    losses, tests, clipped, step = [], [], [], 0
    for _ in range(settings.max_epochs):
        order = torch.randperm(len(x)).numpy()
        for start in range(0, len(x), settings.batch_size):
            rows = order[start : start + settings.batch_size]
            if settings.whole_batches and len(rows) < settings.batch_size:
                continue
            hidden, p = forward(x[rows])
            error = (p - y[rows]) / p.size
            back = (error @ weights[2]) * (hidden > 0)
            step += 1
            gradients = back.T @ x[rows], back.sum(0), error.T @ hidden, error.sum(0)
            norm = np.sqrt(sum((g**2).sum() for g in gradients))
            shrink = min(1, settings.clip / (norm + 1e-6)) if settings.clip else 1
            clipped.append(shrink < 1)
            for i, plain in enumerate(gradients):
                g = plain * shrink + settings.weight_decay * weights[i]
                first[i] = 0.9 * first[i] + 0.1 * g
                second[i] = 0.999 * second[i] + 0.001 * g * g
                weights[i] -= (
                    settings.learning_rate
                    * (first[i] / (1 - 0.9**step))
                    / (np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8)
                )
        p = forward(VALIDATION[0].astype(float))[1]
        losses.append(-np.mean(np.where(VALIDATION[1], np.log(p), np.log(1 - p))))
        tests.append(forward(TEST[0].astype(float))[1])
    return losses, tests, clipped


@pytest.mark.parametrize("settings", [SMALL, THEIRS])
def test_equal_to_the_equations(settings):
    losses, tests, clipped = naive(settings)
    result = mlp_probe(TRAIN, VALIDATION, TEST[0], settings=settings)
    assert result.steps == len(clipped) == 4 * (9 if settings.whole_batches else 10)
    assert any(clipped) == bool(settings.clip)
    np.testing.assert_allclose(result.validation_losses, losses, atol=1e-5)
    np.testing.assert_allclose(result.scores, tests[-1], atol=1e-4)
    assert result.epoch == 4 and not result.stopped_early and losses[-1] < losses[0]
    assert precision_at(TEST[1], result.scores, 1).mean() > TEST[1].mean() + 0.15


def test_stops_early_and_keeps_the_best_epoch():
    noise = (TRAIN[0], np.random.default_rng(3).random(TRAIN[1].shape) < 0.3)
    settings = Settings(hidden=64, batch_size=16, max_epochs=60, least_steps=1, learning_rate=1e-2, patience=3)
    result = mlp_probe(noise, VALIDATION, TEST[0], settings=settings)
    best = int(np.argmin(result.validation_losses))
    assert result.stopped_early and len(result.validation_losses) == best + 4 < 60 and result.epoch == best + 1
    whole = mlp_probe(noise, VALIDATION, TEST[0], settings=replace(settings, max_epochs=best + 1))
    np.testing.assert_array_equal(result.scores, whole.scores)


def test_same_seed_same_result_and_torchs_random_state_is_left_alone():
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    one = mlp_probe(TRAIN, VALIDATION, TEST[0], settings=SMALL)
    assert torch.equal(torch.rand(3), expected)
    two = mlp_probe(TRAIN, VALIDATION, TEST[0], settings=SMALL)
    np.testing.assert_array_equal(one.scores, two.scores)
    other = mlp_probe(TRAIN, VALIDATION, TEST[0], settings=replace(SMALL, seed=1))
    assert not np.array_equal(one.scores, other.scores)


def test_defaults_are_the_papers():
    assert (Settings().hidden, Settings().learning_rate) == (1024, 3e-4)
    assert replace(PAPER_SETTINGS, weight_decay=0.0, clip=0.0, whole_batches=False) == Settings()


def test_small_data_get_as_many_steps_as_the_paper():
    assert (Settings().batches(21_675), Settings().epochs(21_675)) == (85, 100)
    assert (PAPER_SETTINGS.batches(22_950), PAPER_SETTINGS.epochs(22_950)) == (89, 100)
    assert (Settings().batches(386), Settings().epochs(386)) == (2, 4250)
    assert (PAPER_SETTINGS.batches(386), PAPER_SETTINGS.batches(100)) == (1, 1) and PAPER_SETTINGS.epochs(100) == 8500
    first = mlp_probe(TRAIN, VALIDATION, TEST[0], settings=replace(SMALL, max_epochs=1, least_steps=25))
    assert first.steps == 30 and not first.stopped_early
    few = mlp_probe((TRAIN[0][:20], TRAIN[1][:20]), VALIDATION, TEST[0], settings=replace(THEIRS, max_epochs=2))
    assert few.steps == 2  # less than a batch is one


def test_held_out_parts():
    kept, out = held_out(200)
    assert len(out) == 30 and sorted([*kept, *out]) == list(range(200))
    assert (
        out.tolist() != list(range(30))
        and out.tolist() == held_out(200)[1].tolist() != held_out(200, seed=1)[1].tolist()
    )
    with pytest.raises(ValueError, match="empty"):
        held_out(2)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="test embeddings have 5 dimensions, expected 12"):
        mlp_probe(TRAIN, VALIDATION, TEST[0][:, :5], settings=SMALL)
    with pytest.raises(ValueError, match="validation embeddings have NaN or infinite values in 60 of 60"):
        mlp_probe(TRAIN, (VALIDATION[0] * np.inf, VALIDATION[1]), TEST[0], settings=SMALL)
    with pytest.raises(ValueError, match="validation labels have 5 classes, expected 6"):
        mlp_probe(TRAIN, (VALIDATION[0], VALIDATION[1][:, :5]), TEST[0], settings=SMALL)
    huge = [(x * np.float32(3e38 / abs(x).max()), y) for x, y in (TRAIN, VALIDATION)]
    with pytest.raises(ValueError, match="training diverged in epoch 1; the embeddings reach 3e\\+38"):
        mlp_probe(*huge, TEST[0], settings=SMALL)


def test_a_small_probe_does_not_depend_on_the_number_of_threads():
    rng, before = np.random.default_rng(4), torch.get_num_threads()
    split = rng.normal(size=(700, 256)).astype(np.float32), rng.random((700, 40)) < 0.2
    found = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        found.append(mlp_probe(split, split, split[0], settings=Settings(max_epochs=3, least_steps=1)).scores)
        assert torch.get_num_threads() == threads
    torch.set_num_threads(before)
    assert np.array_equal(*found)
