"""The parts of a report that the notebook's HTML and the page share."""

from __future__ import annotations

from collections.abc import Callable

from jaxscope import words
from jaxscope.model import Cause, Compile, Finding, Memory, Program, Record
from jaxscope.model.profile import Profile
from jaxscope.view.base.html import escape, prose, table
from jaxscope.view.report import drawings, tables

Href = Callable[[Finding], str]
"""The attributes of the link to a finding's line, or empty when it cannot be reached."""


def findings(record: Record, href: Href, limit: int = 1000) -> str:
    """Advice in order: where, what, what to change, and how we know."""
    items = "".join(_finding(finding, record, href) for finding in record.findings[:limit])
    if (rest := len(record.findings) - limit) > 0:
        items += f"<li>{words.count(rest, 'more finding')} left out here.</li>"
    return f'<ol class="findings">{items}</ol>' if items else ""


def _finding(finding: Finding, record: Record, href: Href) -> str:
    place = escape(tables.place(finding, record))
    link = href(finding)
    where = f'<a class="place" {link}>{place}</a>' if link else f'<b class="place">{place}</b>'
    fix = f'<div class="fix">→ {prose(finding.fix)}</div>' if finding.fix else ""
    evidence = f'<div class="evidence">{prose(finding.evidence)}</div>' if finding.evidence else ""
    return f"<li>{where} <strong>{prose(finding.message)}</strong>{fix}{evidence}</li>"


def values(program: Program, limit: int = 10_000) -> str:
    """Inputs, constants and outputs with kind and reason."""
    parts = (
        ("Inputs", program.inputs),
        ("Constants", program.constants),
        ("Outputs", program.outputs),
    )
    found = [
        f"<h4>{title}</h4>{table(tables.values(part), limit=limit)}"
        for title, part in parts
        if part
    ]
    return "".join(found) or "<p>The program takes no input and gives no output.</p>"


def time(program: Program, pictures: bool = True) -> str:
    """Timings with their intervals, and every sample as a dot."""
    if not program.timings:
        if isinstance(program.profile, Profile):
            text = "The program was not timed by itself; “Time by line” tells what its calls took."
            return f"<p>{text}</p>"
        return "<p>The program was not run, so there are no timings.</p>"
    drawn = "".join(
        f"<figure><figcaption>{escape(t.label)}, each dot one round</figcaption>"
        f"{drawings.strip(t)}</figure>"
        for t in program.timings
        if pictures and len(t.samples) > 1
    )
    return table(tables.timings(program.timings)) + drawn


def work(program: Program) -> str:
    """Operations, traffic and the roofline."""
    return table(tables.work(program), "facts")


def memory(program: Program) -> str:
    """Bytes on the device."""
    bar = drawings.memory_bar(program.memory) if isinstance(program.memory, Memory) else ""
    return bar + table(tables.memory(program), "facts")


def compiles(record: Record, limit: int = 1000) -> str:
    """Every compilation of the run, what it was for, why it happened and what to change."""
    if not record.compiles:
        return "<p>Nothing was compiled in this run: 0 compiles.</p>"
    details = "".join(_compile(compile) for compile in record.compiles[:limit])
    return table(tables.compiles(record.compiles, record), limit=limit) + details


def _compile(compile: Compile) -> str:
    signature = ", ".join(compile.signature)
    causes = "".join(
        f"<li>{prose(cause.text)}{_change(cause)} {prose(cause.fix)}</li>"
        for cause in compile.causes
    )
    if compile.persistent_why:
        causes += f"<li>{prose(compile.persistent_why)}</li>"
    return (
        f"<h4>{escape(compile.fun_name)}{f'({escape(signature)})' if signature else ''}</h4>"
        f"{drawings.compile_bar(compile)}{f'<ul>{causes}</ul>' if causes else ''}"
    )


def _change(cause: Cause) -> str:
    change = f"{cause.before} → {cause.after}"
    if not (cause.before or cause.after) or change in cause.text:
        return ""
    return f" <code>{escape(cause.before)}</code> → <code>{escape(cause.after)}</code>."


def environment(record: Record) -> str:
    """Versions and settings."""
    return table(tables.environment(record), "facts")
