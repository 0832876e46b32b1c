"""Section tags in texts whose sections are joined by a blank: WIPO-AT's cells as PatentMap's models read them."""

from __future__ import annotations

import mteb
import pyarrow.parquet as pq
import pytest
from worlds import HashEncoder

from patent_mteb.tasks.tagged import tagged_by_ends


@pytest.mark.parametrize(
    ("text", "sections", "tagged"),
    [
        ("Pump It pumps.", {"abstract": "It pumps."}, "Pump [SEP] [abstract] It pumps."),
        ("It pumps.", {"abstract": "It pumps."}, "[abstract] It pumps."),
        ("Pump 1. A pump.", {"abstract": "", "claim": "1. A pump."}, "Pump [SEP] [claim] 1. A pump."),
        ("Pump It pumps.", {"abstract": "Another."}, "Pump It pumps."),
        ("Pump", {}, "Pump"),
        ("", {"abstract": "x"}, ""),
    ],
)
def test_sections_are_found_where_the_text_ends_with_them(text, sections, tagged):
    assert tagged_by_ends(text, sections) == tagged


def test_every_wipo_at_text_of_the_sample_carries_its_tags():
    task = mteb.get_task("WIPOATTAToTACRetrieval.sample")
    task.load_data()
    ((split,),) = [list(parts.values()) for parts in task.dataset.values()]
    model = HashEncoder()
    assert task.texts_for(model, split) is split
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"experiment_kwargs": {"section_tags": True}})
    found = task.texts_for(model, split)
    views = {row["_id"]: row for row in pq.read_table(task.source.path("views.parquet")).to_pylist()}
    checked = 0
    for side, sections in (("corpus", ("Abstract", "Claims")), ("queries", ("Abstract",))):
        plain = dict(zip(split[side]["id"], split[side]["text"], strict=True))
        for key, text in zip(found[side]["id"], found[side]["text"], strict=True):
            tags = {"Abstract": "[abstract]", "Claims": "[claim]"}
            held = [f"{tags[name]} {views[key][name]}" for name in sections if views[key][name]]
            assert text.endswith(" [SEP] ".join(held))
            bare = text
            for tag in tags.values():
                bare = bare.replace(f"{tag} ", "")
            assert bare.replace(" [SEP] ", " ") == plain[key]
            checked += len(held)
    assert checked > 1000
