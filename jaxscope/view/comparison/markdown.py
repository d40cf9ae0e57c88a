"""A comparison as Markdown, for an issue, a pull request or a README."""

from __future__ import annotations

from collections.abc import Iterator

from jaxscope.analysis.regression import Regression
from jaxscope.model.comparison import ComparisonRecord
from jaxscope.view.comparison import names, since, tables
from jaxscope.view.comparison.answer import answer
from jaxscope.view.comparison.conditions import conditions
from jaxscope.view.comparison.doubts import sentences
from jaxscope.view.pipes import pipes, words


def markdown(record: ComparisonRecord, changes: tuple[Regression, ...] = ()) -> str:
    """The answer, tables, warnings and conditions as GitHub Markdown."""
    return "\n".join(_parts(record, changes)).rstrip() + "\n"


def _parts(record: ComparisonRecord, changes: tuple[Regression, ...]) -> Iterator[str]:
    yield f"**{words(answer(record))}**"
    if changes:
        yield f"\n**{words(since.headline(changes))}**"
    for note in (names.sentence(record.stopped), *record.notes):
        if note:
            yield f"\n{words(note)}"
    if len(record.sizes) > 1:
        yield "\n### By size\n"
        yield from pipes(tables.by_size(record))
    for size in record.sizes:
        if size:
            yield f"\n### {words(names.size(size))}"
        yield ""
        yield from pipes(tables.whole(record, record.at(size)))
    if changes:
        yield "\n### Since the baseline\n"
        yield from pipes(since.table(since.telling(changes)))
        yield f"\n{words(since.others(changes))}"
    said = sentences(record)
    if said:
        yield "\n### To know\n"
    for one in said:
        told = f"{one.about}{names.after(one.text)}" if one.about else one.text
        yield f"- **{words(one.code or 'note')}** {words(told)}"
    yield f"\n{words(conditions(record))}"
