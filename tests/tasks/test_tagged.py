"""Section tags in texts whose sections are joined by a blank: WIPO-AT's cells as PatentMap's models read them."""

from __future__ import annotations

import mteb
import pyarrow.parquet as pq
import pytest
from small_data import HashEncoder

from patent_mteb.tasks.retrieval import tagged_by_ends


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


@pytest.mark.slow
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


@pytest.mark.parametrize("name", ["PatenTEBTitle2Full.sample", "SophiaClmsRetrieval.sample"])
def test_the_setting_reaches_retrieval_texts_of_any_model(name):
    task, model = mteb.get_task(name), HashEncoder()
    task.load_data()
    ((split,),) = [list(parts.values()) for parts in task.dataset.values()]
    assert task.texts_for(model, split) is split
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"experiment_kwargs": {"section_tags": True}})
    found = task.texts_for(model, split)
    if name.startswith("Sophia"):
        assert [*found["queries"]["text"]] == [f"[claim] {text}" for text in split["queries"]["text"]]
        assert [*found["corpus"]["text"]] == [*split["corpus"]["text"]]
    else:
        assert [*found["queries"]["text"]] == [*split["queries"]["text"]]
        pairs = list(zip(found["corpus"]["text"], split["corpus"]["text"], strict=True))
        assert all(
            tagged == "[abstract] " + plain.replace(" [SEP] ", " [SEP] [claim] ", 1)
            for tagged, plain in pairs
            if plain.count("[SEP]") == 1
        )
        assert sum(plain.count("[SEP]") == 1 for _, plain in pairs) > 100


def test_the_setting_reaches_classified_texts_of_any_model():
    task, model = mteb.get_task("PatenTEBText2IPC3.sample"), HashEncoder()
    model.mteb_model_meta = model.mteb_model_meta.model_copy(update={"experiment_kwargs": {"section_tags": True}})
    data = task.load_split()
    found = task.texts_for(model, data)
    assert found.labels == data.labels
    for tagged, plain in zip(found.texts["test text"], data.texts["test text"], strict=True):
        title, *rest = plain.split(" [SEP] ")
        assert tagged == " [SEP] ".join(
            [title, *(f"{tag} {part}" for tag, part in zip(("[abstract]", "[claim]"), rest, strict=False))]
        )
