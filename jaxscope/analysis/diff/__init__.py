"""Two reports side by side: what is different in more than names, and what that changed."""

from jaxscope.analysis.diff.record import compare, pair_programs

__all__ = ["compare", "pair_programs"]
