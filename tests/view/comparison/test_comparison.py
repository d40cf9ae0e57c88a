"""A comparison for people: the answer, the tables, what to know, the pictures."""

from __future__ import annotations

import base64
import csv
import dataclasses
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from html.parser import HTMLParser

import pytest

from jaxscope.analysis.comparison import names, stats
from jaxscope.analysis.comparison.regression import Regression, regressions
from jaxscope.model import Unavailable
from jaxscope.model.comparison import (
    BenchWarning,
    ComparisonRecord,
    Ratio,
    RatioVerdict,
    TimingMode,
)
from jaxscope.results.comparison import Comparison
from jaxscope.view.base import terminal
from jaxscope.view.base.markdown import markdown as written
from jaxscope.view.base.svg import image, svg
from jaxscope.view.base.table import Cell
from jaxscope.view.comparison import figures, tables
from jaxscope.view.comparison.answer import _unsure, answer, beside, headline, not_run
from jaxscope.view.comparison.baseline import headline as change
from jaxscope.view.comparison.baseline import others, telling
from jaxscope.view.comparison.document import csv as as_csv
from jaxscope.view.comparison.document import document
from jaxscope.view.comparison.notes import sentences
from tests.results.comparisons import named, pair, record, row, sweep_of

Changes = tuple[Regression, ...]


def text(made: ComparisonRecord, width: int, color: bool = False, changes: Changes = ()) -> str:
    return terminal.text(document(made, changes), width, color)


def markdown(made: ComparisonRecord, changes: Changes = ()) -> str:
    return written(document(made, changes))


def static_html(made: ComparisonRecord, changes: Changes = ()) -> str:
    return Comparison(made, changes).static_html()


def page(made: ComparisonRecord) -> str:
    return Comparison(made)._page()


def test_the_answer_says_who_is_faster_by_how_much():
    assert answer(pair()) == "JAX jit is 3× faster than NumPy (2.99–3×)"


def test_the_answer_of_a_sweep_names_both_ends_and_the_crossover():
    assert answer(sweep_of(10, 30, 1000, 10_000)) == (
        "JAX jit is 10× faster than NumPy at n = 10 000 (9.98–10×); "
        "at n = 10 NumPy is 10× faster; crossover near n = 100"
    )


def test_whoever_wins_comes_first_and_a_change_of_winner_names_both():
    rows = [row("numpy", 9e-6, 1), row("jax", 3e-6, 1), row("numpy", 5e-6, 2), row("jax", 10e-6, 2)]
    assert answer(record(*rows)) == (
        "NumPy is 2× faster than JAX jit at n = 2 (2×); at n = 1 JAX jit is 3× faster; "
        "crossover near n = 1.5"
    )


def test_the_winner_of_a_clear_size_comes_before_a_larger_one_that_is_unclear():
    busy = BenchWarning("J306", "The machine was busy.")
    rows = [row("numpy", 9e-6, 1), row("jax", 3e-6, 1), row("numpy", 5e-6, 2), row("jax", 6e-6, 2)]
    assert answer(record(*rows, warnings=(busy,))) == (
        "JAX jit is 3× faster than NumPy at n = 1 (2.99–3×); at n = 2 it is unclear"
    )


def test_the_interval_of_a_disturbed_run_is_not_given_as_the_reason():
    ratio = Ratio(1.93, 1.88, 1.94, RatioVerdict.UNCLEAR)
    assert _unsure(ratio) == "ratio 1.93, see the warnings"
    assert _unsure(dataclasses.replace(ratio, low=0.9)) == "ratio 1.93, from 0.9 to 1.94"


def test_a_small_difference_is_said_in_percent():
    said = answer(record(row("numpy", 10e-6), row("jax", 10.4e-6)))
    assert said.startswith("NumPy is 4.1 % faster than JAX jit (3.9 to 4.2 %)")


def test_the_same_time_and_an_unclear_one_are_said_so():
    same = answer(record(row("numpy", 10e-6), row("jax", 10e-6)))
    assert same == "JAX jit and NumPy take the same time (ratio 1, from 0.999 to 1)"
    busy = BenchWarning("J306", "The machine was busy.")
    unclear = record(row("numpy", 10e-6), row("jax", 12e-6), warnings=(busy,))
    assert answer(unclear) == "Whether JAX jit or NumPy is faster is unclear (ratio 1.2)"
    (reason, _) = sentences(unclear)
    assert (reason.code, reason.about) == ("unclear", "JAX jit")
    assert reason.text == "The reason is J306, below."


def test_a_single_round_has_no_interval():
    once = Ratio(26.2, 26.2, 26.2, RatioVerdict.UNCLEAR)
    assert names.bare(once) == "26.2"
    assert names.bare(dataclasses.replace(once, high=27.0)) == "26.2 (26.2–27)"


def test_the_fastest_of_many_is_named_if_it_is_another():
    said = answer(record(row("numpy", 30e-6), row("jax", 10e-6), row("torch", 2e-6)))
    assert said.startswith("PyTorch is the fastest of 3: 2 µs, 5× faster than JAX jit; JAX jit is")
    swept = [row(who, t * 1e-6, n) for n in (1, 2) for who, t in (("numpy", 9), ("torch", 2))]
    swept += [row("jax", 30e-6, 1), row("jax", 5e-6, 2)]
    first, *others = answer(record(*swept)).split("; ")
    assert first == "PyTorch is the fastest of 3 at n = 2: 2 µs, 2.5× faster than JAX jit"
    assert others[0].startswith("JAX jit is 1.8× faster than NumPy (")
    assert others[1:] == ["at n = 1 NumPy is 3.3× faster", "crossover near n = 1.6"]
    close = record(row("numpy", 30e-6), row("jax", 10e-6), row("torch", 9.95e-6))
    assert "fastest" not in answer(close), "known to be the fastest, or not said"


def test_jax_that_failed_is_in_the_first_line():
    failed = row("jax", 1e-6, processes=(), failure="It raised NameError on line 5: no `y`.")
    said = answer(record(row("numpy", 1e-6), failed, row("torch", 6e-6)))
    assert said.startswith("NumPy is 6× faster than PyTorch (")
    assert said.endswith("; JAX jit raised NameError on line 5: no `y`")
    fine = answer(record(row("numpy", 1e-6), row("jax", 1e-6), failed))
    assert "raised" not in fine


def test_what_is_no_fair_ratio_is_said_in_the_same_sentence():
    differs = record(row("numpy", 30e-6), row("jax", 10e-6, error=0.5))
    assert answer(differs).endswith("(2.99–3×); but their results differ")
    said = BenchWarning("J201", "The result is the complex conjugate of that of float64 JAX.")
    turned = record(row("numpy", 30e-6), row("jax", 10e-6, error=1.7, warnings=(said,)))
    assert answer(turned).endswith("but their results differ by complex conjugation")
    folded = row("jax", 10e-6, warnings=(BenchWarning("J102", "The program computes nothing."),))
    assert answer(record(row("numpy", 30e-6), folded)).endswith(
        "; but the program of JAX jit computes nothing"
    )
    twin = dataclasses.replace(folded, label="jax-eager", title="by hand")
    assert answer(record(twin, folded)).endswith("; but their programs compute nothing")


def test_results_that_differ_are_never_the_fastest():
    wrong = row("torch", 2e-6, error=0.5)
    assert "fastest" not in answer(record(row("numpy", 30e-6), row("jax", 10e-6), wrong))


def test_who_is_missing_beside_others_can_be_said():
    quick, slow = row("numpy", 30e-6), row("jax", 10e-6)
    gone = [named(label, failure="No.") for label in "cd"]
    assert not_run(record(quick, slow)) == ""
    assert not_run(record(quick, gone[0])) == ""  # the answer itself says so
    assert not_run(record(quick, slow, gone[0])) == "C was not run"
    assert not_run(record(quick, slow, *gone)) == "C and d were not run"


def test_without_anything_to_compare_the_answer_says_why():
    absent = named("numpy", failure="It hung.")
    assert answer(record(absent)) == "Nothing was measured. NumPy hung"
    raised = dataclasses.replace(absent, failure="It raised ValueError: no.")
    assert answer(record(raised)) == "Nothing was measured. NumPy raised ValueError: no"
    assert answer(record(raised, row("jax", 3e-6), row("torch", 3e-6))).endswith(
        " cannot be compared with NumPy, which raised ValueError: no"
    )
    late = dataclasses.replace(absent, failure="numpy: the first call took too long.")
    assert answer(record(late)) == "Nothing was measured. NumPy: The first call took too long"
    assert answer(record(row("numpy", 3e-6))) == "NumPy takes 3 µs"
    assert answer(record()) == "Nothing was measured"
    alone = record(row("jax", 3e-6), pair().rows[2])
    assert answer(alone) == "JAX jit takes 3 µs; PyTorch: PyTorch is not installed"


def test_several_devices_are_told_apart():
    rows = [row("jax", 10e-6), row("jax", 5e-6, device="gpu:0")]
    assert answer(record(*rows)).startswith("JAX jit on gpu:0 is 2× faster than JAX jit on cpu:0")


def test_an_interrupted_run_says_so():
    stopped = dataclasses.replace(pair(), stopped="interrupted at n=64")
    assert answer(stopped).endswith("; the run ended early")
    assert "Interrupted at n=64." in text(stopped, 100)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (2.0, "2×"),
        (0.5, "2×"),
        (1.04, "4 %"),
        (1.099, "1.1×"),
        (264.4, "264×"),
        (0.0000625, "16 000×"),
    ],
)
def test_a_factor_is_read_from_either_side(ratio: float, said: str):
    assert names.factor(ratio) == said


def test_every_column_of_a_row_is_there():
    table = tables.whole(pair(), pair().rows)
    assert table.rows[1] == (
        "JAX jit",
        "cpu:0",
        "float32",
        "10 µs",
        "9.97–10 µs",
        "0.334 (0.333–0.334)",
        "3× faster",
        "5 µs",
        "5 µs",
        "30 µs",
        "2.0 + 5.0 + 35.5 ms",
        "2 µs",
        "4.1 kB",
        "1.0e-07",
        "60 × 10",
        "J304",
    )
    assert table.rows[0][5:7] == ("1", "baseline")
    assert table.rows[2][-1] == "PyTorch is not installed."


def test_a_device_time_longer_than_its_call_is_not_shown():
    """The profiler adds a microsecond to each instruction of a `scan`."""
    slow = record(row("jax", 10e-6, device_s=60e-6), row("jax", 10e-6, device_s=9e-6))
    column = tables.whole(slow, slow.rows)
    assert [cells[8] for cells in column.rows] == ["—", "9 µs"]


def test_what_pays_and_what_never_does():
    table = tables.preparation(pair(), pair().rows)
    assert [cells[-1] for cells in table.rows] == ["", "2124 calls"]
    slow = record(row("numpy", 10e-6), row("jax", 30e-6))
    assert tables.preparation(slow, slow.rows).rows[1][-1] == "never"


def test_results_that_differ_keep_their_ratio_and_say_so():
    made = record(row("numpy", 30e-6), row("jax", 10e-6, error=0.5))
    cells = tables.whole(made, made.rows).rows[1]
    assert cells[6] == "3× faster, but the results differ"
    assert "5.0e-01 ✗" in cells


def test_warnings_stand_once_with_all_that_they_are_about():
    def noisy(percent: int) -> tuple[BenchWarning, ...]:
        return (BenchWarning("J301", f"Noisy: the spread is {percent}% of the median."),)

    made = sweep_of(10, 20, 40)
    rows = [
        dataclasses.replace(r, warnings=noisy(10 + i) if r.size != (("n", 20),) else ())
        for i, r in enumerate(made.rows)
    ]
    (found,) = sentences(dataclasses.replace(made, rows=tuple(rows)))
    assert found.about == "NumPy at n = 10, 40; JAX jit at n = 10, 40"
    assert found.text == "Noisy: the spread is 15% of the median (the largest of 4)."


def test_how_many_stand_behind_a_figure_is_said_beside_it_and_not_after_the_cure():
    def handed(micros: int) -> tuple[BenchWarning, ...]:
        return (
            BenchWarning(
                "J309", f"Handed over: {micros} of 40.5 µs pass. After `f(1.5)` it is quick."
            ),
        )

    made = sweep_of(10, 20)
    rows = [dataclasses.replace(r, warnings=handed(20 + i)) for i, r in enumerate(made.rows)]
    (found,) = sentences(dataclasses.replace(made, rows=tuple(rows)))
    assert found.text == (
        "Handed over: 23 of 40.5 µs pass (the largest of 4). After `f(1.5)` it is quick."
    )


def test_shapes_of_different_implementations_are_not_put_together():
    def other(shape: str) -> tuple[BenchWarning, ...]:
        return (BenchWarning("J201", f"The shape of the result is {shape}: other work."),)

    made = record(
        row("numpy", 1e-6),
        row("jax", 1e-6, warnings=other("(3, 4)")),
        row("torch", 1e-6, warnings=other("(5, 4)")),
        row("c", 1e-6, warnings=other("(5, 4)")),
    )
    assert [(one.about, one.text) for one in sentences(made)] == [
        ("JAX jit", "The shape of the result is (3, 4): other work."),
        ("PyTorch, C", "The shape of the result is (5, 4): other work."),
    ]


def test_the_static_display_says_where_its_tables_can_be_sorted():
    shown = static_html(pair())
    assert shown.count("comparison.to_html(path)") == 1
    assert "a page whose columns sort by a click, hide and can be copied" in shown
    assert "a page whose columns sort" not in page(pair())


def test_failures_on_other_lines_of_the_cell_are_not_one():
    rows = [
        row(label, 1e-6, processes=(), failure=f"It raised ValueError on line {line}: no.")
        for label, line in (("numpy", 3), ("jax", 5), ("torch", 5))
    ]
    assert [(one.about, one.text) for one in sentences(record(*rows))] == [
        ("NumPy", "It raised ValueError on line 3: no."),
        ("JAX jit, PyTorch", "It raised ValueError on line 5: no."),
    ]
    assert "JAX jit, PyTorch raised ValueError on line 5: no." in text(record(*rows), 120)
    assert "JAX jit, PyTorch raised ValueError on line 5: no." in markdown(record(*rows))
    assert "JAX jit, PyTorch raised ValueError on line 5: no." in static_html(record(*rows))


def test_what_was_not_compared_says_why_unless_nobody_asked():
    why = Unavailable("the float64 reference failed")
    (found,) = sentences(record(row("jax", 1e-6, error=why)))
    assert (found.code, found.about) == ("unchecked", "JAX jit")
    assert "the float64 reference failed" in found.text
    assert sentences(record(row("jax", 1e-6, error=Unavailable("not checked")))) == ()


def test_the_text_fits_its_width_and_holds_everything():
    said = text(sweep_of(10, 100, 1000), 100)
    assert max(len(line) for line in said.splitlines()) <= 100
    for part in (
        "n = 10 ",
        "Time per call at n = 1000",
        "implementation",
        "10× faster",
        "jax 0.10.2",
        "pays off after",
    ):
        assert part in said, part
    assert "\x1b[" not in said
    assert "\x1b[1m" in text(pair(), 100, color=True)


def test_throughput_is_said():
    assert "Throughput: a round issues its calls one after the other" in text(
        dataclasses.replace(pair(), mode=TimingMode.THROUGHPUT), 100
    )


def test_markdown_has_the_answer_the_rows_and_the_reasons():
    said = markdown(pair())
    assert said.startswith("**JAX jit is 3× faster than NumPy")
    assert "| JAX jit | cpu:0 | float32 | 10 µs |" in said
    assert "- **not run**: PyTorch: PyTorch is not installed." in said


def test_csv_is_a_table_of_numbers():
    rows = list(csv.DictReader(io.StringIO(as_csv(sweep_of(10, 100)))))
    assert [(r["label"], r["n"]) for r in rows] == [
        ("numpy", "10"),
        ("jax", "10"),
        ("numpy", "100"),
        ("jax", "100"),
    ]
    assert float(rows[1]["median_s"]) == pytest.approx(10e-6, rel=1e-3)
    assert rows[0]["ratio"] == ""
    assert float(rows[1]["ratio"]) == pytest.approx(10, rel=1e-2)


def test_a_pair_of_rows_is_estimated_once_for_all_views(monkeypatch: pytest.MonkeyPatch):
    """Forty rows of a thousand rounds would take a second otherwise."""
    pairs: list[int] = []
    estimate = stats.estimate

    def counting(logs: Sequence[float]) -> stats.Estimate:
        pairs.append(len(logs))
        return estimate(logs)

    monkeypatch.setattr(stats, "estimate", counting)
    made = sweep_of(31, 101, 301)
    static_html(made)
    text(made, 100)
    assert len(pairs) == 3


def test_a_label_that_a_spreadsheet_would_run_is_quoted():
    assert "'=cmd" in as_csv(record(row("=cmd", 1e-6)))


def test_a_regression_stands_in_every_view():
    now, then = record(row("jax", 12e-6)), record(row("jax", 10e-6))
    changes = regressions(now, then)
    assert changes[0].ratio is not None
    assert changes[0].ratio.verdict is RatioVerdict.SLOWER
    for said in (
        text(now, 100, changes=changes),
        markdown(now, changes),
        static_html(now, changes),
    ):
        assert "REGRESSION: 1.2× slower" in said
        assert "The only row became slower than the baseline." in said
        assert said.index("The only row became slower") < said.index("REGRESSION")


def test_of_many_rows_those_that_changed_are_shown_and_the_others_counted():
    sizes = tuple(range(10, 110, 10))
    then = sweep_of(*sizes)
    now = dataclasses.replace(
        then,
        rows=(
            dataclasses.replace(then.rows[0], processes=row("numpy", 3e-6).processes),
            dataclasses.replace(then.rows[1], processes=(), failure="It raised."),
            *then.rows[2:],
        ),
    )
    changes = regressions(now, then)
    assert [one.label for one in telling(changes)] == ["numpy"]
    rest = "The other 19 rows have no known change: 18 within 5 %, 1 not compared."
    assert others(changes) == rest
    for said in (text(now, 100, changes=changes), markdown(now, changes)):
        assert said.count("no change beyond 5 %") == 0
        assert rest in said
    page = static_html(now, changes)
    assert rest in page
    assert page.count("no change beyond 5 %") == 18
    assert "### Since the baseline" in page
    assert telling(changes[:8]) == changes[:8]
    assert others(changes[:8]) == ""


@pytest.mark.parametrize(
    ("now", "says"),
    [
        ((10, 10, 10), "None of 3 rows is known to differ from the baseline by more than 5 %."),
        ((5, 10, 10), "1 of 3 rows became faster than the baseline."),
        ((20, 10, 10), "1 of 3 rows became slower than the baseline."),
        ((20, 5, 30), "2 of 3 rows became slower than the baseline, 1 became faster."),
        ((10,), "The only row is not known to differ from the baseline by more than 5 %."),
        ((5,), "The only row became faster than the baseline."),
        ((), "Nothing could be compared with the baseline."),
    ],
)
def test_the_sentence_on_a_baseline_names_it_in_both_directions(now: tuple[int, ...], says: str):
    labels = ("numpy", "jax", "torch")
    then = record(*[row(label, 10e-6) for label in labels])
    later = record(*[row(label, t * 1e-6) for label, t in zip(labels, now, strict=False)])
    assert change(regressions(later, then)) == says


class Tags(HTMLParser):
    """Fails on tags that do not close, and collects them all."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


@pytest.mark.parametrize(
    "made", [pair(), sweep_of(10, 30, 1000), record()], ids=["pair", "sweep", "none"]
)
def test_static_html_is_well_formed_and_has_no_script(made: ComparisonRecord):
    tags = Tags(static_html(made))
    used = {tag for tag, _ in tags.seen}
    assert used.isdisjoint({"script", "link", "iframe", "input", "button"})
    assert not any(name.startswith("on") for _, given in tags.seen for name in given)
    assert len(static_html(made)) < 100_000


def test_a_large_comparison_is_shortened_and_says_so():
    rows = [row(f"jax: {i}", (i + 1) * 1e-6, n) for n in range(1, 41) for i in range(8)]
    html = static_html(record(*rows))
    assert len(html.encode()) <= 200_000
    assert "writes every row" in html
    assert answer(record(*rows)) in html


def test_static_html_has_the_winner_one_picture_and_one_table_in_sight():
    for made in (sweep_of(10, 30, 1000), pair()):
        html = static_html(made)
        assert f"<b>{headline(made)}</b>" in html
        seen, depth = "", 0
        for part in re.split(r"(</?details\b)", html.partition("</style>")[2]):
            depth += (part == "<details") - (part == "</details")
            seen += part if not depth else ""
        assert (seen.count("<img"), seen.count("<table")) == (1, 1)
        assert seen.index('class="first"') < seen.index("<img") < seen.index("<table")
    assert "crossover near n = 100" in static_html(sweep_of(10, 30, 1000))
    assert beside(pair()) == ""


def test_a_cell_holds_one_number_and_its_verdict_is_its_tooltip():
    made = sweep_of(10, 1000)
    wrong = dataclasses.replace(made.rows[3], error=0.5)
    table = tables.by_size(dataclasses.replace(made, rows=(*made.rows[:3], wrong)), folds=True)
    assert [tuple(map(str, cells)) for cells in table.rows] == [
        ("n = 10", "1 µs", "10 µs"),
        ("n = 1000", "100 µs", "10 µs ⚠"),
    ]
    slow, differs = table.rows[0][2], table.rows[1][2]
    assert isinstance(slow, Cell)
    assert isinstance(differs, Cell)
    assert (slow.tone, differs.tone) == ("slower", "flag")
    assert slow.hover.startswith("10× slower; time ÷ NumPy: 10 (")
    assert differs.hover.startswith("10× faster, but the results differ;")
    facts = {name: cells for name, *cells in table.folds[0].rows}
    assert facts["verdict"] == ["baseline", "10× slower"]
    assert facts["pays off after"] == ["", "never"]
    single = tables.by_implementation(pair(), folds=True)
    assert single.heads == ("", "time per call", "÷ NumPy")
    assert [tuple(map(str, cells)) for cells in single.rows] == [
        ("NumPy", "30 µs", "1"),
        ("JAX jit", "10 µs", "0.334"),
        ("PyTorch", "—", "—"),
    ]
    html = static_html(pair())
    assert 'title="3× faster; time ÷ NumPy: 0.334' in html
    assert html.count("<summary>Details</summary>") == 3


def test_a_single_size_that_was_measured_has_no_curve():
    made = sweep_of(10, 1000)
    rows = [dataclasses.replace(r, processes=(), failure="No time.") for r in made.rows[:2]]
    html = static_html(dataclasses.replace(made, rows=(*rows, *made.rows[2:])))
    assert "<figcaption>Rounds at n = 1000, and their median" in html
    assert "Time over that of NumPy" not in html


def test_only_warnings_that_change_the_answer_are_open():
    noisy = (BenchWarning("J301", "Noisy."), BenchWarning("J201", "It differs."))
    html = static_html(record(row("numpy", 3e-6), row("jax", 1e-6, warnings=noisy)))
    opened, _, folded = html.partition("<details><summary>1 more warning")
    assert "JAX jit: It differs." in opened
    assert "Noisy." not in opened
    assert "Noisy." in folded.partition("</details>")[0]


def test_what_a_notebook_keeps_is_images_that_speak():
    """Of an inline SVG a notebook that is not trusted leaves the letters in a row."""
    made = sweep_of(10, 30, 1000)
    html = static_html(made)
    assert "<svg" not in html
    found = [given for tag, given in Tags(html).seen if tag == "img"]
    words = [given["alt"] for given in found]
    assert words[0] == "Time per call against n, median with the 10th to 90th percentile"
    for given in found:
        kind, _, data = (given["src"] or "").partition(",")
        assert kind == "data:image/svg+xml;base64"
        root = ET.fromstring(base64.b64decode(data))
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert (root.attrib["width"], root.attrib["height"]) == (given["width"], given["height"])
    assert "<svg" in page(made)
    assert "<img" not in page(made)
    assert image("") == ""


def test_an_image_has_a_color_for_every_implementation():
    rows = [row(name, (i + 1) * 1e-6) for i, name in enumerate(("numpy", "jax", "torch", "c"))]
    data = image(svg(figures.rounds(record(*rows)))).partition("base64,")[2]
    drawn = base64.b64decode(data.partition('"')[0]).decode()
    style, _, shown = drawn.partition("</style>")
    used = set(re.findall(r'class="(p\d) dots"', shown))
    assert len(used) == 4
    assert all(f".{one}{{color:#" in style for one in used)


def test_a_framework_has_its_color_in_every_comparison_and_a_dash_for_its_second():
    def looks(*labels: str) -> dict[str, tuple[int | None, int]]:
        rows = [row(label, 1e-6, n) for n in (1, 2) for label in labels]
        return {one.name: (one.color, one.dash) for one in figures.time(record(*rows)).series}

    first = looks("numpy", "jax", "jax: by hand")
    assert first == {"NumPy": (2, 0), "JAX jit": (0, 0), "JAX jit: by hand": (0, 1)}
    assert looks("torch", "c", "jax", "numpy") == {
        "PyTorch": (1, 0),
        "C": (7, 0),
        "JAX jit": (0, 0),
        "NumPy": (2, 0),
    }
    rows = [row(f"jax: {i}", (i + 1) * 1e-6, n) for n in (1, 2) for i in (0, 1)]
    assert svg(figures.time(record(*rows))).count('class="p1 line h1"') == 1


@pytest.mark.parametrize(("implementations", "inside"), [(5, True), (6, False)])
def test_the_times_by_size_fill_the_place_beside_the_pictures(implementations: int, inside: bool):
    rows = [row(f"jax: {i}", (i + 1) * 1e-6, n) for n in (1, 2) for i in range(implementations)]
    head, _, _ = static_html(record(*rows)).partition('class="answer"')
    assert ('<div class="figures">' in head) is inside


def test_foreign_text_is_escaped():
    evil = row("<script>alert(1)</script>", 1e-6)
    for said in (static_html(record(evil)), page(record(evil))):
        assert "<script>alert" not in said


def test_the_page_refers_to_nothing_outside_and_carries_the_figures():
    made = sweep_of(10, 30, 1000)
    html = page(made)
    Tags(html)
    assert "http:" not in html.replace("http://www.w3.org", "")
    assert "https:" not in html
    assert "default-src 'none'" in html
    figure = html.partition('data-value="')[2]
    assert 4.2e-2 < float(re.search(r'data-value="(0\.0\d+)"', figure)[1]) < 4.3e-2


def test_pictures_are_svg_that_parses_and_speaks():
    made = sweep_of(10, 30, 1000)
    for drawn in (
        svg(figures.time(made)),
        svg(figures.ratio(made)),
        svg(figures.rounds(pair())),
        svg(figures.break_even(pair())),
    ):
        root = ET.fromstring(drawn)
        assert root.attrib["aria-label"]
    ratio = ET.fromstring(svg(figures.ratio(made)))
    assert [t.text for t in ratio.iter("text") if t.text and "≈" in t.text] == ["n ≈ 100"]
    assert len(list(ET.fromstring(svg(figures.time(made))).iter("polyline"))) == 2


def marks(svg: str) -> list[str | None]:
    return [
        text.text for text in ET.fromstring(svg).iter("text") if "strong" in text.get("class", "")
    ]


def test_who_has_caught_up_is_marked_whoever_is_the_baseline():
    assert marks(svg(figures.break_even(pair()))) == ["JAX jit: 2124 calls"]
    turned = record(row("jax", 10e-6), row("numpy", 30e-6))
    assert marks(svg(figures.break_even(turned))) == ["JAX jit passes NumPy: 2124 calls"]
    assert tables.preparation(turned, turned.rows).rows[1][-1] == "JAX jit: 2124 calls"
    never = record(row("jax", 30e-6), row("numpy", 10e-6))
    assert marks(svg(figures.break_even(never))) == []
    assert tables.preparation(never, never.rows).rows[1][-1] == ""


def test_a_crossover_is_named_where_several_may_cross():
    made = sweep_of(10, 30, 1000)
    assert marks(svg(figures.ratio(made))) == ["n ≈ 100"]
    others = [row("torch", 30e-6, n) for n in (10, 30, 1000)]
    both = dataclasses.replace(made, rows=(*made.rows, *others))
    assert marks(svg(figures.ratio(both))) == ["PyTorch: n ≈ 300", "JAX jit: n ≈ 100"]


def test_only_what_was_measured_has_dots():
    assert "<circle" in svg(figures.time(sweep_of(10, 30)))
    assert "<circle" not in svg(figures.break_even(pair()))


def test_axes_across_end_with_a_label_and_up_with_seconds():
    said = [
        text.text
        for text in ET.fromstring(svg(figures.break_even(sweep_of(10, 10_000)))).iter("text")
    ]
    assert "1 000 000" in said
    assert "1000 s" in said
    assert "16.7 min" not in said


def test_a_long_name_leaves_room_for_the_picture():
    made = record(row("numpy", 1e-6), row("np.linalg." + "norm" * 20 + "(x)", 2e-6))
    for drawn in (svg(figures.rounds(made)), svg(figures.break_even(pair()))):
        root = ET.fromstring(drawn)
        assert all(len(text.text or "") <= 28 for text in root.iter("text"))
    assert "np.linalg.normnormnormnormn…" in svg(figures.rounds(made))


def test_a_picture_of_nothing_is_none():
    assert svg(figures.rounds(record())) == ""
    assert svg(figures.break_even(record(row("numpy", 1e-6)))) == ""
