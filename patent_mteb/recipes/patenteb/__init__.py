"""Recipe of PatenTEB (Ayaou and Cavallucci 2025, §3): canonical records in, the 15 published tables out.

Written below the root as ``datalyes/<task>/test/data.parquet``, and ``train/data.parquet`` for the three classification
sets, with exactly the published columns (:data:`COLUMNS`). Ids are ids of patent families.

**Families.** The unit is the simple family, put together as in DAPFAM (to which §3 refers): texts come from one
publication, the latest that has title, abstract and claims; codes and inventors are merged over all members in order of
publication; the earliest application date counts as filing date. The text is title, abstract, first claim (the lowest
number), each in lower case, joined by ``" [SEP] "``. The abstract goes in without its section markers
(:mod:`patent_mteb.recipes.fragments`), as published.

**Readings**, where the paper gives no rule or two:

* The dominant IPC3 is the one with most distinct codes of the family; the first listed wins a tie.
  ``first_ipcr3_count`` is the number of families retained in that class.
* The splits are drawn by family, and every pair lies in one split as a whole: no family of the test rows occurs in
  training.
* The citation graph is used in both directions (the published ``pos_link_type`` is ``CITES`` or ``CITED_BY``). A hard
  negative is linked neither to the query nor to the positive; within its domain category it is drawn at random. A MIXED
  query without any PART_MIX candidate (always so for a query with a single IPC3) takes a FULL_MIX one; a row for which
  there is no candidate at all is left out and counted.
* A title is removed from its target by leaving the title section out *and* wherever its words stand in the rest; a
  target that would be empty is left out and counted.
* Bloom: a citation counts from the publication date of the citing family (filing date where that is unknown). The top
  decile of a class are the families that reach the value of rank ceil(n/10), if it is above zero; the bottom decile
  likewise from below. Early takes precedence over late. Of the rest, as many are kept as the larger of early and late
  has, per split.
* Old/new: each link gives one row, turned one way or the other at random; links in both directions are left out.
  ``newer`` says that the query cites the target.
* Clusters draw on all families that pass the filters, of any split and class (the published sets are larger than the
  test split). A family with inventors of several clusters goes with the one it names first.

**Waived** with ``require``: a text comes from the latest of the publications with most of title, abstract and first
claim; a family without a filing date is of any year and in no row of Bloom.

Every draw depends on the seed and the ids only, not on the order of the input: the same records give the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from patent_mteb.files import write_parquet
from patent_mteb.patents.records import Citation, Patent
from patent_mteb.recipes.log import BuildLog
from patent_mteb.recipes.needs import deviations
from patent_mteb.recipes.patenteb.tables import COLUMNS, SMALL, schema, tables
from patent_mteb.recipes.patenteb.world import NEEDS, PAPER, SAMPLE, Params, domain_relation, make_world

__all__ = ["COLUMNS", "NEEDS", "SAMPLE", "Params", "build", "domain_relation"]


def build(patents: Sequence[Patent], citations: Sequence[Citation], root: Path, params: Params = PAPER) -> BuildLog:
    """Write the 15 PatenTEB tables below ``root``.

    A table without rows (say, effects where no abstract is segmented) is not written; the log says so.
    """
    log = BuildLog("PatenTEB", deviations=deviations(params, NEEDS))
    world = make_world(patents, citations, params, log)
    for task, split, rows in tables(world):
        if not rows:
            more = f"; for a small set: {SMALL[task]}" if task in SMALL else ""
            log.step(f"{task} {split}", 0, 0, f"no rows: the file is not written{more}")
            continue
        columns = {column: [row[column] for row in rows] for column in COLUMNS[task]}
        name = f"datalyes/{task}/{split}/data.parquet"
        write_parquet(root / name, pa.table(columns, schema=schema(task)))
        log.files.append(name)
    log.files.sort()
    return log
