"""Two reports compared by structure, where renumbered names are not changes, and by figures."""

from jaxscope.analysis.diff.record import compare, pair_programs

__all__ = ["compare", "pair_programs"]
