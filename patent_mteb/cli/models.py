"""``patent-mteb models``: registered models against their own files."""

from __future__ import annotations

from dataclasses import asdict

from patent_mteb.cli import common
from patent_mteb.cli.app import command
from patent_mteb.cli.options import SESSION, Session


@command("models verify", "patent-mteb models verify datalyes/patembed-base")
def models_verify(name: str, /, *, session: Session = SESSION) -> int:
    """Compare what the registry says of a model with the model's own files.

    Args:
        name: Name of a registered model ('patent-mteb list models').
    """
    from patent_mteb.models.verification import verify

    facts = [asdict(fact) for fact in verify(name)]
    common.result(facts)
    common.show(list(facts[0]), [list(fact.values()) for fact in facts])
    return 1 if any(fact["verdict"] == "differs" for fact in facts) else 0
