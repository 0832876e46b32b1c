"""A few hand-made patents and simple models for tests; every number is easy to follow."""

from __future__ import annotations

import datetime as dt
import zlib
from collections import Counter

import numpy as np
from mteb.models.model_meta import ModelMeta

from patent_mteb import sample
from patent_mteb.models.behaviour import TEXTS
from patent_mteb.patents.records import Citation, Claim, Description, MachineSummaries, Patent

TOPICS = ("brake", "pump", "antenna", "enzyme", "lens", "loom")
CODES = ("B60T 8/17", "F04D 29/66", "H01Q 1/24", "C12N 9/14", "G02B 3/00", "D03D 47/30")
OFFICES = ("US", "EP", "CN", "JP", "KR", "DE")


def patent(number: int, *, topic: int | None = None, year: int = 2018, office: str = "US", **fields) -> Patent:
    """Patent ``<office><number>A1`` of family ``F<number>``; its topic decides words and IPC code."""
    topic = number % len(TOPICS) if topic is None else topic
    word = TOPICS[topic]
    values = {
        "family_id": f"F{number}",
        "title": f"{word.capitalize()} number{number}",
        "abstract": f"A {word} with part{number} and spring.",
        "claims": (
            Claim(1, f"A {word} comprising part{number}."),
            Claim(2, f"The {word} of claim 1, wherein part{number} is blue.", (1,)),
            Claim(3, f"A method of using part{number}."),
        ),
        "description": Description(
            background=f"Known {word} devices exist. A disadvantage of them is noise{number}.",
            summary=(
                f"It is an object of the invention to provide a quiet {word}. This has the advantage that part{number}"
                " lasts."
            ),
            detailed=f"The {word} 10 of Fig. 1 has part{number}.",
        ),
        "ipc": (CODES[topic],),
        "publication_date": dt.date(year, 6, 1),
        "application_date": dt.date(year - 1, 3, 1),
        "summaries": MachineSummaries(
            *(f"{kind} of {word} part{number}" for kind in ("ab", "feat", "clm", "adv", "obj"))
        ),
    }
    return Patent(f"{office}{number}A1", **(values | fields))


def part_of_the_sample(n: int) -> tuple[list[Patent], list[Citation]]:
    """The first ``n`` patents of the sample and the citations among them."""
    patents, citations = sample.load()
    numbers = {one.publication_number for one in patents[:n]}
    return patents[:n], [one for one in citations if {one.citing, one.cited} <= numbers]


def world(n: int = 60) -> tuple[list[Patent], list[Citation]]:
    """Patents of 2016 to 2025 in six topics and offices; each cites the one before in its topic as X, the one before
    that as A.
    """
    patents = [patent(i, year=2016 + i % 10, office=OFFICES[(i // 2) % 6]) for i in range(n)]
    name = [p.publication_number for p in patents]
    citations = [Citation(name[i], name[i - 6], "X", "examiner") for i in range(6, n)]
    citations += [Citation(name[i], name[i - 12], "A", "examiner") for i in range(12, n)]
    return patents, citations


class Words:
    """An encoder of hashed words and a little noise, deterministic, without prompts; writes down every text that it
    encodes.
    """

    def __init__(self, name: str = "test/words", dims: int = 512, **experiment) -> None:
        self.dims = dims
        self.mteb_model_meta = ModelMeta.create_empty(
            {"name": name, "revision": "1", "experiment_kwargs": experiment or None, "embed_dim": dims}
        )
        self.seen: Counter[str] = Counter()

    def store_prompt(self, task_metadata, prompt_type) -> str:
        return ""

    def vector(self, text: str) -> np.ndarray:
        noise = np.random.default_rng(zlib.crc32(text.encode())).standard_normal(
            self.dims
        )  # so that no two scores are equal
        row = (0.03 * noise).astype(np.float32)
        for word in text.lower().replace(".", " ").replace(",", " ").split():
            row[zlib.crc32(word.encode()) % self.dims] += 1
        return row / np.linalg.norm(row)

    def encode(self, inputs, *, task_metadata, hf_split, hf_subset, prompt_type=None, **kwargs):
        texts = [text for batch in inputs for text in batch["text"]]
        self.seen.update(text for text in texts if text not in TEXTS)
        return np.stack([self.vector(text) for text in texts])

    def similarity(self, a, b):
        import torch

        return torch.as_tensor(np.asarray(a)) @ torch.as_tensor(np.asarray(b)).T

    def similarity_pairwise(self, a, b):
        import torch

        return (torch.as_tensor(np.asarray(a)) * torch.as_tensor(np.asarray(b))).sum(dim=1)


def evaluate(task, model) -> dict:
    """Scores of a task's one split and subset, by the task's own evaluation."""
    (scores,) = task.evaluate(model, task.split, encode_kwargs={}).values()
    return scores
