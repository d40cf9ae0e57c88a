"""Runs the examples of docs/findings.md and prints the findings of each cell, as JSON.

A process of its own: some examples need eight devices.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import warnings
from typing import Any

from tests.paths import ROOT

PAGE = ROOT / "docs" / "findings.md"
SECTION = re.compile(r"^## (\w+)$", re.MULTILINE)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONG, SHORTER = "50_000_000", "10_000_000"
"""Numbers that a cell of the page adds up while it is traced. A fifth will do where the limit of
the finding is a fifth too."""
WIDTH = 100
"""Columns of the printed findings on the page."""


def sections() -> dict[str, str]:
    """The text of each kind's section; under `` the part above the first."""
    head, *parts = SECTION.split(PAGE.read_text("utf-8"))
    return {"": head} | dict(zip(parts[::2], parts[1::2], strict=True))


def printed(report: Any, kind: str) -> list[str]:
    """The findings of a kind as the report prints them."""
    text = report.to_text(width=WIDTH).partition("\nFindings\n")[2].partition("\n\n")[0]
    entries = re.split(r"\n(?=  \S)", text) if text else []
    assert len(entries) == len(report.findings), text
    pairs = zip(report.findings, entries, strict=True)
    return [entry for finding, entry in pairs if finding.kind == kind]


def run() -> dict[str, list[list[str] | None]]:
    """By kind and block: the printed findings of that kind; None for a block without a report."""
    from IPython.core.interactiveshell import InteractiveShell

    # Its package has a rule of the same name.
    importlib.import_module("jaxscope.analysis.findings.calls").SLOW_TRACE_S /= 5
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "jaxscope")
    found: dict[str, list[list[str] | None]] = {}
    for kind, body in sections().items():
        found[kind] = []
        for block in BLOCK.findall(body):
            code = re.sub(r"^%%jaxjit\b", "%%jaxjit -o report", block).replace(LONG, SHORTER)
            shell.user_ns.pop("report", None)
            quiet = io.StringIO()
            with contextlib.redirect_stdout(quiet), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = shell.run_cell(code)
            assert result.success, f"{block}\n{quiet.getvalue()}"
            report = shell.user_ns.get("report")
            found[kind].append(None if report is None else printed(report, kind))
    return found


if __name__ == "__main__":
    print(json.dumps(run()))
