"""Differences as sentences: what changed, and what to do about it."""

from __future__ import annotations

from jaxscope.analysis.compiles.causes.difference import Difference
from jaxscope.analysis.compiles.causes.signature import Signature
from jaxscope.analysis.compiles.causes.text_arguments import ARGUMENT_WORDS
from jaxscope.analysis.compiles.causes.text_functions import FUNCTION_WORDS
from jaxscope.analysis.compiles.causes.text_settings import SETTING_WORDS
from jaxscope.model import Cause

_WORDS = {**ARGUMENT_WORDS, **FUNCTION_WORDS, **SETTING_WORDS}


def worded(found: Difference, signature: Signature, nearest: int) -> Cause:
    """The cause with its sentence and its fix; `nearest` is the compile it compares with."""
    text, fix = _WORDS[found.kind](found, signature, nearest)
    return Cause(found.kind, found.path, found.before, found.after, text, fix)
