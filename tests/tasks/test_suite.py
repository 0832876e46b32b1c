"""Own data: the tasks that a data set declares, beside those that results are of."""

import json

from report_folders import DATE, attest, built_tables, model_folder

from patent_mteb.data.loading import DATA_VARIABLE
from patent_mteb.report.collect import collect
from patent_mteb.tasks import catalogue

MAP = catalogue.find("PatentMap")


def own_results(root, version="1"):
    """Two models on the own data set Acme: one with two of three tasks, the other with one."""
    for model, tasks in (("acme/more", MAP.task_classes[:2]), ("acme/less", MAP.task_classes[:1])):
        folder = model_folder(root, model)
        for task in tasks:
            meta = task.metadata
            name = f"Acme{meta.name}.local-aaaaaaaaaaaa"
            whose = {
                "name": "Acme",
                "version": version,
                "owner": "",
                "licence": "",
                "benchmark": "PatentMap",
                "task": meta.name,
            }
            entry = {
                meta.main_score: 0.5,
                "main_score": 0.5,
                "hf_subset": "default",
                "languages": ["eng-Latn"],
                "data_set": whose,
            }
            result = {
                "dataset_revision": "local-aaaaaaaaaaaa",
                "task_name": name,
                "mteb_version": "2.26.24",
                "date": DATE,
            }
            (folder / f"{name}.json").write_text(json.dumps(result | {"scores": {task.facts.split: [entry]}}))
            attest(folder / f"{name}.json", {"scoring": task.scoring})
    return root


def overall(root):
    """Overall and the count of tasks by model, of the table of the own data set."""
    table = next(table for name, table in built_tables(root).items() if name.endswith("-overall"))
    place = [column.key for column in table.columns].index("overall")
    return {row[0].text: (row[place].text, row[-1].text) for row in table.rows}


def test_a_mean_is_over_the_tasks_that_the_data_set_declares(tmp_path, monkeypatch):
    results = own_results(tmp_path / "results")
    assert overall(results) == {"acme/more": ("0.5000", "2 of 2"), "acme/less": ("–", "1 of 2")}
    assert any("AcmePatentMap" in message and "--data" in message for message in collect(results).messages)
    data = tmp_path / "data"
    for one in MAP.data_sets:
        (data / one.key).mkdir(parents=True)
    (data / "dataset.json").write_text('{"schema": 1, "name": "Acme"}')
    monkeypatch.setenv(DATA_VARIABLE, str(data))
    assert overall(results) == {"acme/more": ("–", "2 of 3"), "acme/less": ("–", "1 of 3")}
    assert not any("--data" in message for message in collect(results).messages)
    older = own_results(tmp_path / "older", version="0")
    assert overall(older)["acme/more"] == ("0.5000", "2 of 2"), "the data set at hand is another version"
