"""Trials of fixes and of compiler options: the gain in one sentence, the change as a diff."""

from __future__ import annotations

from collections.abc import Sequence

from jaxscope import words
from jaxscope.analysis.variants.verdicts import earlier
from jaxscope.model.comparison import RatioVerdict
from jaxscope.model.variants import PlanFigures, TrialVerdict, VariantTrial
from jaxscope.view.base import insert
from jaxscope.view.base.document import Chapter, CodeBlock, Document, Part
from jaxscope.view.base.html import Html, prose, tag

_LEAST_S = 0.05
"""A difference of compile time below this is noise."""
_SAME = 0.01
_SEEN = 1e-3
"""A difference of the results that is more than rounding in float32."""
_STYLE = (
    ".jxs-trials .no-gain{opacity:.6}.jxs-trials pre[hidden]{display:none}"
    ".jxs-apply,.jxs-apply>code{color:var(--jp-content-font-color1,inherit);background:none}"
    + insert.STYLE
)


def gain(trial: VariantTrial) -> str:
    """The outcome in one line: factor with interval where clear, peak, results, compile time."""
    of_cell = _compilations(trial)
    differ = trial.verdict is TrialVerdict.RESULTS_DIFFER
    if differ or (trial.ratio is None and not of_cell):
        return trial.why
    found: list[str] = []
    if of_cell:
        found += of_cell
    elif trial.verdict is TrialVerdict.SAME:
        found.append(trial.why.rstrip(".") + f" ({_factor(trial)})")
    elif trial.verdict is not TrialVerdict.UNCLEAR:
        found.append(_factor(trial))
    if trial.before is not None and trial.after is not None:
        plan = _plan(trial.before, trial.after)
        # A change that is better in memory or compile time begins with that.
        found = [*plan, *found] if _is_no_faster(trial) else [*found, *plan]
    if trial.error is not None:
        found.append(_results(trial.error))
    text = ", ".join(found)
    if trial.verdict is not TrialVerdict.UNCLEAR and not (of_cell and trial.why):
        return text
    return f"{trial.why} {text[:1].upper()}{text[1:]}." if text else trial.why


def _is_no_faster(trial: VariantTrial) -> bool:
    """Whether one program is better, but not by the time of its calls."""
    one = trial.verdict is TrialVerdict.BETTER and not _compilations(trial)
    return one and trial.ratio is not None and trial.ratio.high >= 1


def _results(error: float) -> str:
    """The largest difference: of rounding, or in percent."""
    if error >= _SEEN:
        return f"results differ by up to {words.percent(error)}"
    return "results equal" if error == 0 else f"results equal within {error:.1g}"


def _compilations(trial: VariantTrial) -> list[str]:
    """The compilations of a whole cell before and after, and the further runs of it."""
    before, after, ratio = trial.before, trial.after, trial.ratio
    if before is None or after is None or before.compilations is None:
        return []
    found = [f"{before.compilations} → {words.count(after.compilations or 0, 'compilation')}"]
    if ratio is None or ratio.verdict is RatioVerdict.UNCLEAR:
        return found
    if not ratio.low <= 1 <= ratio.high:
        found.append(f"each further run {_factor(trial)}")
    return found


def _factor(trial: VariantTrial) -> str:
    ratio = trial.ratio
    assert ratio is not None
    if ratio.low <= 1 <= ratio.high:
        middle, low, high = map(_times, (ratio.estimate, ratio.low, ratio.high))
        return f"{middle}× the time per call [{low}, {high}]"
    if ratio.estimate <= 1:
        low, high, middle, word = 1 / ratio.high, 1 / ratio.low, 1 / ratio.estimate, "faster"
    else:
        low, high, middle, word = ratio.low, ratio.high, ratio.estimate, "slower"
    return f"{_times(middle)}× {word} [{_times(low)}, {_times(high)}]"


def _times(value: float) -> str:
    """`0.98`, `36.8`, `1870`."""
    return f"{value:.2f}" if value < 10 else words.significant(float(f"{value:.3g}"))


def _plan(before: PlanFigures, after: PlanFigures) -> list[str]:
    found: list[str] = []
    if before.peak and after.peak is not None and abs(after.peak / before.peak - 1) > _SAME:
        found.append(f"peak {words.size(before.peak)} → {words.size(after.peak)}")
    if before.flops and after.flops is not None and abs(after.flops / before.flops - 1) > _SAME:
        found.append(f"{words.flops(before.flops)} → {words.flops(after.flops)}")
    if before.compile_s is not None and after.compile_s is not None:
        more = after.compile_s - before.compile_s
        if abs(more) >= _LEAST_S:
            found.append(f"{'+' if more > 0 else '−'}{words.seconds(abs(more))} compile")
    return found


def title(trial: VariantTrial) -> str:
    """Number, line, change and verdict."""
    number = [f"{trial.number}"] if trial.number else []
    line = [f"line {trial.line}"] if trial.line is not None else []
    return " · ".join([*number, *line, trial.title, str(trial.verdict)])


def document(trials: Sequence[VariantTrial], first: Sequence[str]) -> Document:
    """All trials, in the order of their findings; options without a gain in one chapter."""
    idle = [one for one in trials if one.options and one.verdict is not TrialVerdict.BETTER]
    shown = [one for one in trials if one not in idle]
    again = earlier(trials)
    chapters = [_chapter(one, again.get(one.number)) for one in shown]
    chapters += [_without_gain(idle)] if idle else []
    return Document("trials", tuple(first), (), tuple(chapters), styles=("diff",), css=Html(_STYLE))


def _without_gain(trials: Sequence[VariantTrial]) -> Chapter:
    """One line for the options of each verdict; the reasons are in `Trials`."""
    verdicts = dict.fromkeys(one.verdict for one in trials)
    lines = [
        f"{verdict}: " + ", ".join(_with_factor(one) for one in trials if one.verdict is verdict)
        for verdict in verdicts
    ]
    return Chapter("nogain", f"No gain: {words.count(len(trials), 'option')}", tuple(lines))


def _with_factor(trial: VariantTrial) -> str:
    known = trial.ratio is not None and trial.verdict is TrialVerdict.WORSE
    return f"`{trial.title}`" + (f" ({_factor(trial)})" if known else "")


def _chapter(trial: VariantTrial, first: int | None) -> Chapter:
    if first is not None:
        return Chapter(f"trial{trial.number}", title(trial), (f"The change is that of {first}.",))
    parts: tuple[Part, ...] = ()
    if trial.diff:
        lines = dict(enumerate(trial.diff.rstrip("\n").split("\n"), 1))
        shown = tag("pre", *map(_changed, lines.values()), class_="diff")
        parts = (Part(code=CodeBlock(lines, len(lines), language="diff", html=shown), brief=True),)
    return Chapter(f"trial{trial.number}", title(trial), (gain(trial),), parts)


def _changed(line: str) -> Html:
    """A line of the diff, marked where it is added or removed."""
    mark = {"-": "old", "+": "new"}.get(line[:1])
    return tag("span", line or " ", class_=mark)


def apply_button(trial: VariantTrial) -> Html:
    """A button that inserts the changed cell below, where the front end can."""
    label = f"Apply: insert the cell with {trial.title}"
    head = tag("p", insert.button("Apply", label), " ", prose(trial.title), class_="jxs-apply")
    return tag("div", head, tag("pre", *insert.code(trial.cell), hidden="hidden"))
