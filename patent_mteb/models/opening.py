"""Faults of a checkpoint that no loader reports as an error: missing, unused or other weights, and unusable output."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from mteb.abstasks.task_metadata import TaskMetadata
from mteb.types import PromptType
from numpy.typing import NDArray

from patent_mteb.errors import ModelError, PatentMTEBError
from patent_mteb.model_identity.loaded import leaves, network_of
from patent_mteb.models.behaviour import TEXTS
from patent_mteb.models.folders import BARE_ENCODERS, CLASSIFIER
from patent_mteb.search.checkpoint_files import COMPARE
from patent_mteb.search.late_interaction import LateInteraction
from patent_mteb.store.batches import as_array, text_loader

logger = logging.getLogger(__name__)


PROBE = TaskMetadata(
    name="PatentMTEBBackendProbe",
    description="Texts of the sample, to compare the speed of backends.",
    dataset={"path": "patent-mteb/backend-probe", "revision": "1"},
    type="STS",
    eval_splits=["test"],
    eval_langs=["eng-Latn"],
    main_score="cosine_spearman",
)


class LoadReports(logging.Handler):
    """Collects the weights that transformers reports, with an index of layers such as ``{0, 1}``.

    They are missing in the checkpoint, unexpected by the model, or of another size (with the sizes).
    """

    def __init__(self) -> None:
        super().__init__()
        self.missing: set[str] = set()
        self.unexpected: set[str] = set()
        self.mismatched: dict[str, str] = {}

    def emit(self, record: logging.LogRecord) -> None:
        text = _COLOUR.sub("", record.getMessage())
        rows = [[cell.strip() for cell in line.split("|")] for line in text.splitlines()]
        self.missing |= {row[0] for row in rows if "MISSING" in row[1:2]}
        self.unexpected |= {row[0] for row in rows if "UNEXPECTED" in row[1:2]}
        self.mismatched |= {row[0]: row[2].partition(" - ")[2] for row in rows if "MISMATCH" in row[1:2]}
        self.missing |= set(re.findall("'([^']+)'", text.partition("newly initialized:")[2]))  # transformers 4

    def names(self, network: Any, reported: Iterable[str]) -> list[str]:
        """The parameters of a network that reported names stand for."""
        patterns = [re.sub(r"\\\{[^}]*\}", r"\\d+", re.escape(name)) for name in reported]
        ends = re.compile(f"(?:.*\\.)?(?:{'|'.join(patterns)})")
        return [name for name, _ in network.named_parameters() if patterns and ends.fullmatch(name)]


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@contextlib.contextmanager
def listening(reports: LoadReports, name: str) -> Iterator[None]:
    source = logging.getLogger("transformers.modeling_utils")
    level, propagate, disabled = source.level, source.propagate, logging.root.manager.disable
    if disabled >= logging.WARNING:  # for all loggers
        logging.disable(logging.NOTSET)
        source.propagate = False
    if not source.isEnabledFor(logging.WARNING):  # the user silenced it
        source.setLevel(logging.WARNING)
        source.propagate = False
    source.addHandler(reports)
    try:
        yield
    except Exception as error:
        if not reports.mismatched:
            raise
        first, sizes = min(reports.mismatched.items())
        problem = f"weights of '{name}' have other sizes than its config.json states"
        raise ModelError(f"{problem} ({len(reports.mismatched)}, such as {first}: {sizes})", remedy=COMPARE) from error
    finally:
        logging.disable(disabled)
        source.removeHandler(reports)
        source.level, source.propagate = level, propagate


def _output(leaf: Any) -> NDArray[Any] | None:
    """What a model makes of a long and a short text, None for one that does not read texts."""
    texts = [TEXTS[0], TEXTS[-1]]
    where: dict[str, Any] = {"task_metadata": PROBE, "hf_split": "test", "hf_subset": "default"}
    where |= {"show_progress_bar": False, "prompt_type": PromptType.document}
    if isinstance(leaf, LateInteraction):
        return np.concatenate([one for side in (True, False) for one in leaf.encode_tokens(texts, is_query=side)])
    if hasattr(leaf, "score_labels"):
        return as_array(leaf.score_labels(texts, ["pump"]))
    if hasattr(leaf, "predict"):
        del where["prompt_type"]
        return as_array(leaf.predict(text_loader(texts, 2), text_loader(texts, 2), **where)).reshape(2, -1)
    return as_array(leaf.encode(text_loader(texts, 2), **where)) if hasattr(leaf, "encode") else None


def refuse_unused_layers(model: Any, reports: LoadReports, folder: str) -> None:
    """Refuse a checkpoint with weights of layers that its configuration does not have."""
    layers = {name: re.sub(r"\.\d+\.", ".{}.", name) for name in reports.unexpected}
    layers = {name: pattern for name, pattern in layers.items() if ".{" in pattern}
    networks = [network for leaf in leaves(model) if (network := network_of(leaf)) is not None]
    unused = [name for name, one in sorted(layers.items()) if any(reports.names(each, [one]) for each in networks)]
    if unused:
        problem = f"the checkpoint {folder} has weights of more layers than its config.json states ({unused[0]}, …)"
        raise ModelError(problem, remedy=COMPARE)


def refuse_random_weights(model: Any, reports: LoadReports, name: str) -> None:
    """Refuse a model some of whose weights are missing, if they change what it makes of a text.

    The weights of the pooler of a BERT checkpoint are often missing, and no embedding depends on them.
    """
    if not reports.missing:
        return
    for leaf in leaves(model):
        network = network_of(leaf)
        names = [] if network is None else reports.names(network, reports.missing)
        weights = {key: network.get_parameter(key).data for key in names}
        if weights and _depends_on(leaf, weights):
            raise ModelError(
                f"{name} has no weights for {', '.join(sorted(reports.missing))[:300]}: they were initialised at"
                " random, and its output depends on them",
                remedy=COMPARE,
            )


def _depends_on(leaf: Any, weights: Mapping[str, Any]) -> bool:
    """Whether a model's output depends on weights. Some may leave scores saturated, but not their negative, too."""
    import torch

    before, originals = _output(leaf), {key: weight.clone() for key, weight in weights.items()}
    found = False
    for far in (_FAR, -_FAR):
        for weight in weights.values():  # not a constant, which a layer norm would remove
            weight.copy_(torch.linspace(-far / 2, far, weight.numel()).reshape(weight.shape))
        after = _output(leaf)
        if before is not None and after is not None:
            found = found or not np.allclose(before, after, atol=_UNCHANGED, rtol=0)
    for key, weight in weights.items():
        weight.copy_(originals[key])
    return found


_FAR = 10.0  # far from weights, which are about 0.02, so that attention changes too
_UNCHANGED = 1e-5  # largest difference of two equal computations, which a GPU may sum in another order


def _is_encoder(leaf: Any) -> bool:
    return hasattr(leaf, "encode") or isinstance(leaf, LateInteraction)


def _say_what_is_guessed(network: Any, folder: str) -> None:
    """Name what transformers decides by the model type, because the files do not say it or say something unknown."""
    config = next((each.config for each in network.modules() if hasattr(each, "config")), None)
    if config is None:
        return
    named, family = (config.architectures or [""])[0], type(config).__name__.removesuffix("Config")
    if named.endswith((*BARE_ENCODERS, CLASSIFIER)) and not named.startswith(family):
        logger.warning("%s: config.json names the architecture %s, but it is loaded as %s", folder, named, family)
    if not any(Path(folder).rglob("tokenizer_config.json")):
        what = "letter case, control tokens and the greatest length are the defaults of transformers"
        logger.warning("%s has no tokenizer_config.json, so %s for %s", folder, what, family)


def check_output(model: Any, folder: str) -> None:
    """Let a checkpoint read two texts, so that a wrong configuration ends here and not in the first task."""
    transformer = (Path(folder) / "config.json").is_file()  # a table of word vectors may know no word of the texts
    try:
        for leaf in leaves(model):
            if (network := network_of(leaf)) is not None:
                _say_what_is_guessed(network, folder)
                weights = list(network.parameters())
                if weights and not any(bool(weight.any()) for weight in weights):
                    raise ModelError(f"all weights of the checkpoint {folder} are 0", remedy=COMPARE)
            output = _output(leaf)
            if output is not None and not np.isfinite(output).all():
                raise ModelError(f"the checkpoint {folder} gives NaN or infinite numbers for a text", remedy=COMPARE)
            if output is not None and transformer and _is_encoder(leaf) and (output == output[0]).all():
                raise ModelError(f"the checkpoint {folder} gives different texts the same vector", remedy=COMPARE)
    except PatentMTEBError:
        raise
    except Exception as error:
        problem = f"the checkpoint {folder} is loaded but cannot read a text ({type(error).__name__}: {error})"
        raise ModelError(problem, remedy=COMPARE) from error
