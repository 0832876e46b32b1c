"""A registered checkpoint against the files of its own repository."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from huggingface_hub import snapshot_download

from patent_mteb.errors import ModelError, did_you_mean
from patent_mteb.model_identity.prompts import role_prompts
from patent_mteb.models.checkpoints import CHECKPOINTS
from patent_mteb.models.folders import folder_facts
from patent_mteb.models.prompts import TABLE_11
from patent_mteb.models.registry import local_copy
from patent_mteb.search.checkpoint_files import check_configuration, read_modules, read_settings

_POOLING = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
"""Switches of sentence-transformers before version 6, which writes ``pooling_mode`` instead."""


@dataclass(frozen=True)
class Fact:
    property: str
    registered: str
    in_files: str
    verdict: Literal["equal", "differs", "not stated"]


def verify(name: str) -> list[Fact]:
    """Compare modules, pooling, head, dimensions, token limit, similarity and prompts; a missing file states nothing.

    Raises:
        ModelError: the model is not registered, or its files are neither on the hub, in its cache nor local.
    """
    if name not in CHECKPOINTS:
        remedy = "name a patent model that 'patent-mteb list models' shows with its hub id"
        raise ModelError(f"'{name}' is not registered{did_you_mean(name, CHECKPOINTS)}", remedy=remedy)
    row = CHECKPOINTS[name]
    folder, commit = _files(name)
    check_configuration(folder)
    facts = folder_facts(folder)
    modules = [one["type"].rpartition(".")[2] for one in read_modules(folder / "modules.json")]
    similarity = facts.get("similarity_fn_name")
    pairs: list[tuple[str, Any, Any]] = [
        ("commit", row.revision, commit),
        ("modules", "its own" if row.modules else "none", "its own" if modules else "none"),
        ("pooling", row.pooling, _pooling(folder)),
        ("head", "Dense" if row.head else "none", ("Dense" if "Dense" in modules else "none") if modules else None),
        ("dimensions", row.dim, facts.get("embed_dim")),
        ("tokens", row.max_tokens, facts.get("max_tokens")),
        ("similarity", "cosine", similarity.value if similarity else None),
        ("prompts", row.prompts, _prompts(folder)),
    ]
    return [_fact(*pair) for pair in pairs]


def _fact(what: str, registered: Any, found: Any) -> Fact:
    if registered is None or found is None:
        missing = "not pinned" if what == "commit" else "not stated"
        return Fact(what, str(registered or missing), str(found or "not stated"), "not stated")
    return Fact(what, str(registered), str(found), "equal" if registered == found else "differs")


def _files(name: str) -> tuple[Path, str | None]:
    """The folder with the settings of a checkpoint, and its commit; None for a local copy."""
    if (local := local_copy(name)) is not None:
        return local, None
    try:
        folder = Path(snapshot_download(name, revision=CHECKPOINTS[name].revision, allow_patterns=["*.json"]))
    except Exception as error:  # huggingface_hub raises many types
        remedy = "connect to the hub, or put a copy under its name into the folder that PATENT_MTEB_MODELS names"
        raise ModelError(f"the files of {name} were not found ({type(error).__name__})", remedy=remedy) from error
    return folder, folder.name


def _pooling(folder: Path) -> str | None:
    for module in read_modules(folder / "modules.json"):
        if module["type"].endswith("Pooling"):
            settings = read_settings(folder / module["path"] / "config.json")
            on = [mode for switch, mode in _POOLING.items() if settings.get(switch)]
            return str(settings["pooling_mode"]) if "pooling_mode" in settings else "+".join(on) or "another"
    return None


def _prompts(folder: Path) -> str | None:
    """``table11``, ``none`` or ``others`` with their roles; the patembed checkpoints nest theirs by task."""
    path = folder / "config_sentence_transformers.json"
    if not path.is_file():
        return None
    settings = read_settings(path)
    found = {text.strip() for text in _texts(settings.get("prompts") or {})} - {""}
    known = {side.strip() for prompt in TABLE_11.values() for side in (prompt.query, prompt.document)}
    others = f"others ({', '.join(role_prompts(settings.get('prompts') or {})) or 'for no role'})"
    return "none" if not found else "table11" if found <= known else others


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _texts(one)
