"""The losses of the recipes: losses of sentence-transformers with the papers' settings.

========================  ==============================================================================================
kind of a data set        loss
========================  ==============================================================================================
``ranking``               CachedMultipleNegativesRanking (WIPO-AT §3.5; PatentMap eq. 1; PatenTEB eq. 1; QaECTER §2.2),
                          cosine
``contrastive``           OnlineContrastive, cosine distance, margin .5 (PatenTEB eq. 2)
``triplet``               BatchHardSoftMarginTriplet with cosine distance (eq. 3; the library's default is Euclidean)
``softmax``               Softmax on [u; v] (eq. 4; the library's default adds |u - v|; its layer has a bias, eq. 4 does
                          not)
``mse``                   MSE to the projected vectors of a teacher (§4.4)
========================  ==============================================================================================

Static embedding models do not support mini-batches, and cached losses do not support dropped layers. Both use the plain
ranking loss, which has the same value and gradient. The online contrastive loss sums over the hard pairs of a batch
only.
"""

from __future__ import annotations

from typing import Any, Literal

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.losses import (
    BatchHardTripletLossDistanceFunction,
    SiameseDistanceMetric,
)
from torch import nn

from patent_mteb.errors import DataError
from patent_mteb.training.bases import is_static
from patent_mteb.training.recipes import Settings

Kind = Literal["ranking", "contrastive", "triplet", "softmax", "mse", "scores"]
GROUPED: tuple[Kind, ...] = ("triplet", "contrastive")
"""Losses that compare rows of equal label, and need batches with several rows of each label."""


def make_loss(kind: Kind, model: SentenceTransformer, settings: Settings, n_labels: int = 2) -> nn.Module:
    """Make the loss of one table of pairs."""
    if settings.layer_dropping and is_static(model):
        raise DataError("a base without a transformer has no layers to drop", remedy="use --set layer_dropping=false")
    loss: nn.Module
    if kind == "ranking":
        loss = _ranking(model, settings)
    elif kind == "contrastive":
        loss = losses.OnlineContrastiveLoss(
            model, distance_metric=SiameseDistanceMetric.COSINE_DISTANCE, margin=settings.margin
        )
    elif kind == "triplet":
        loss = losses.BatchHardSoftMarginTripletLoss(
            model, distance_metric=BatchHardTripletLossDistanceFunction.cosine_distance
        )
    elif kind == "softmax":
        width = int(model.get_embedding_dimension() or 0)
        loss = losses.SoftmaxLoss(
            model, embedding_dimension=width, num_labels=n_labels, concatenation_sent_difference=False
        )
    else:
        loss = losses.MSELoss(model)
    if settings.matryoshka and kind == "ranking":
        loss = losses.MatryoshkaLoss(model, loss, matryoshka_dims=list(settings.matryoshka))
    if settings.layer_dropping:
        loss = losses.AdaptiveLayerLoss(model, loss)
    return loss


def _ranking(model: SentenceTransformer, settings: Settings) -> nn.Module:
    directions: Any = ("query_to_doc", "doc_to_query") if settings.symmetric else ("query_to_doc",)
    mode: Any = "per_direction" if settings.symmetric else "joint"
    scale = 1 / settings.temperature
    if is_static(model) or settings.layer_dropping:
        return losses.MultipleNegativesRankingLoss(model, scale=scale, directions=directions, partition_mode=mode)
    return losses.CachedMultipleNegativesRankingLoss(
        model, scale=scale, mini_batch_size=settings.mini_batch, directions=directions, partition_mode=mode
    )
