"""The run matrix of DAPFAM (§5.6): backend x granularity x query x corpus x aggregation x length, and fusions of two backends.

One row a run: the model with all its settings, the factors, nDCG and Recall at 100 and 10 for ALL, IN and OUT, the times of indexing,
splitting and encoding, and ``seconds``, that of scoring and aggregation (§5.7). The runs of one group (the aggregations of one passage
pass, the fusion settings of one pair of rankings) share their component rankings, and with them the times; a ranking that was kept
costs none.

The table is written after every group by replacing the file, and rankings are kept in a folder beside it, so a sweep that was
stopped goes on where it stopped: finished groups are not run again, and the table comes out the same (but for the times).
"""

from patent_mteb.experiments.sweep.matrix import PAPER, Matrix, Setting
from patent_mteb.experiments.sweep.running import sweep
from patent_mteb.experiments.sweep.table import printed_rows

__all__ = ["PAPER", "Matrix", "Setting", "printed_rows", "sweep"]
