"""The version and the package's folder, in a file that every layer may import."""

import os

__version__ = "0.1.0"
TESTED_JAX = (0, 12)
"""The newest jax whose private names were seen; `docs/` and `CHANGELOG.md` name it too."""
HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
"""The directory of the package with a separator at its end."""
