"""`python -m jaxscope.bench.session FOLDER`: one session of a comparison, for `sessions`."""

from __future__ import annotations

import sys
from pathlib import Path

from jaxscope.bench.processes import run

if __name__ == "__main__":
    run(Path(sys.argv[1]))
