"""Recipe of PatenTEB (Ayaou and Cavallucci 2025, §3): from canonical records to the 15 published tables.

It writes ``datalyes/<task>/test/data.parquet``, and ``train/data.parquet`` for the three classification sets, with the
published columns (:data:`COLUMNS`). Ids are ids of patent families.

**Families.** The unit is the simple family, consolidated as in DAPFAM, to which §3 refers. The texts come from the
latest publication with title, abstract and claims. Codes and inventors are merged over all members in order of
publication. The earliest application date is the filing date. The text is title, abstract and first claim (the lowest
number), each in lower case, joined by ``" [SEP] "``. The abstract has no section markers
(:mod:`patent_mteb.recipes.fragments`), as published.

**Interpretations**, where the paper gives no rule or two:

* The dominant IPC3 is the one with most distinct codes of the family; the first listed wins a tie.
  ``first_ipcr3_count`` is the number of families retained in that class.
* Splits are drawn by family, and both families of a pair are in one split: no family of the test rows occurs in
  training.
* The citation graph is used in both directions (the published ``pos_link_type`` is ``CITES`` or ``CITED_BY``). A hard
  negative is linked neither to the query nor to the positive; within its domain category it is drawn at random. A MIXED
  query without any PART_MIX candidate (always so for a query with a single IPC3) takes a FULL_MIX one. A row without
  any candidate is dropped and counted.
* The title section is removed from the target of a title, and so is every other occurrence of its words. A row with an
  empty target is dropped and counted.
* Bloom: a citation counts from the publication date of the citing family (filing date where that is unknown). The top
  decile of a class are the families that reach the value of rank ceil(n/10), if it is above zero; the bottom decile
  likewise from below. Early takes precedence over late. Each split keeps as many of the other families as the larger of
  the two classes has.
* Old/new: each link gives one row in a random direction; links in both directions are dropped. ``newer`` means that the
  query cites the target.
* Clusters draw on all families that pass the filters, of any split and class (the published sets are larger than the
  test split). A family with inventors of several clusters belongs to the cluster of the first one.

Where ``require`` waives a field, the texts come from the latest of the publications with most of title, abstract and
first claim. A family without a filing date passes the filter by year and is in no row of Bloom.

Every draw depends only on the seed and the ids, not on the order of the input: the same records give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patent_mteb.files import write_rows
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.patenteb.families import NEEDS, PAPER, SAMPLE, Params, domain_relation, table_data
from patent_mteb.recipes.patenteb.tables import COLUMNS, SMALL, complete, schema, tables

__all__ = ["COLUMNS", "NEEDS", "SAMPLE", "Params", "build", "domain_relation"]


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = PAPER) -> BuildLog:
    """Write the 15 tables to ``root``. A table without rows is logged and not written."""
    log = BuildLog("PatenTEB")
    data = table_data(patents, citations, params, log)
    for task, split, rows in tables(data):
        if not rows:
            more = f"; for a small set: {SMALL[task]}" if task in SMALL else ""
            log.step(f"{task} {split}", 0, 0, f"no rows: the file is not written{more}")
            continue
        write_rows(root / "datalyes" / task / split / "data.parquet", complete(data, task, rows), schema(task))
    log.record_files(root, "datalyes")
    return log
