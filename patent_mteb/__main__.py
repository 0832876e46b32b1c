"""``python -m patent_mteb``: the command ``patent-mteb``."""

import sys

from patent_mteb.cli import main

if __name__ == "__main__":
    sys.exit(main())
