"""``python -m patent_mteb.cli``."""

import sys

from patent_mteb.cli import main

sys.exit(main())
