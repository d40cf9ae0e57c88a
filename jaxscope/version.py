"""The version, in a file of its own so that every layer may name it, and where the package lies."""

import os

__version__ = "0.1.0"
HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "")
"""The directory of the package with a separator at its end."""
