"""The form of a finding's texts: short sentences, one in the message."""

from __future__ import annotations

import re

from jaxscope.model import Finding

MOST_WORDS = 20


def sentences(text: str) -> list[str]:
    """Code in backticks counts as one word."""
    return re.split(r"(?<=\.) ", re.sub(r"`[^`]*`", "code", text))


def assert_reads_well(finding: Finding) -> None:
    assert len(sentences(finding.message)) == 1, finding.message
    assert len(sentences(finding.fix)) <= 2, finding.fix
    for text in (finding.message, finding.fix, finding.evidence):
        assert text.endswith("."), text
        assert text[0].isupper() or text[0] in "`0123456789" or text.startswith("jit("), text
        assert text.count("`") % 2 == 0, text
    for text in (finding.message, finding.fix):
        assert all(len(s.split()) <= MOST_WORDS for s in sentences(text)), text
