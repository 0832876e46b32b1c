"""Other measures of the headline task."""

from report_folders import HEADLINE, main_scores

from patent_mteb.report.collect import collect
from patent_mteb.report.page import measures


def test_measures_are_those_of_the_result_files_best_first(world):
    (table,) = measures(collect(world).data_sources["sample"].benchmark("WIPO-AT"))
    files = {run: scores for (task, run), scores in main_scores(world).items() if task == f"{HEADLINE}.sample"}
    assert [row[0].value for row in table.rows] == sorted(files, key=lambda run: -files[run]["main_score"])
    keys = [column.key for column in table.columns[1:]]
    assert keys == ["recall_at_10", "recall_at_20", "recall_at_100", "ndcg_at_10"]
    for row in table.rows:
        assert [cell.value for cell in row[1:]] == [files[row[0].value][key] for key in keys]
