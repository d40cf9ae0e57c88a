"""The same cell on many processes: equal facts once, the others by process."""

import tracemalloc

from jaxscope.analysis.cluster.exchange_order import call_orders, exchange_orders
from jaxscope.analysis.cluster.runs import (
    leads,
    line_spreads,
    merged,
    program_groups,
    ranges,
    said,
    spread,
)
from jaxscope.model.cluster import CollectiveRun, ProcessProgram, ProcessRun
from jaxscope.results.cluster_run import ClusterRun
from jaxscope.view.cluster.run import run_document


def run(process: int, fingerprint: str = "aa", seconds: float = 1.0) -> ProcessRun:
    programs = (ProcessProgram("step", "In [3]:2", fingerprint=fingerprint, compile_s=seconds),)
    return ProcessRun(process, "h", programs, wall_s=seconds, lines=((2, seconds),))


def test_a_program_that_all_have_is_one_row() -> None:
    (row,) = program_groups([run(i) for i in range(4)])
    assert (row.processes, row.everywhere) == ((0, 1, 2, 3), True)


def test_a_program_of_some_processes_comes_first() -> None:
    odd, usual = program_groups([run(i, "bb" if i == 2 else "aa") for i in range(4)])
    assert (odd.fingerprint, odd.processes, odd.everywhere) == ("bb", (2,), False)
    assert usual.processes == (0, 1, 3)


def test_seconds_of_two_compilations_of_one_program_add_up_on_each_process() -> None:
    twice = ProcessRun(1, "h", run(1).programs * 2)
    (row,) = program_groups([run(0), twice])
    assert row.compile_s == spread({0: 1.0, 1: 2.0})


def test_the_slowest_process_of_a_line_is_named() -> None:
    found = line_spreads([run(i, seconds=9.0 if i == 5 else 1.0 + i / 10) for i in range(7)])
    assert found[2].highest == 5
    assert (found[2].low, found[2].median, found[2].high) == (1.0, 1.3, 9.0)


def test_one_report_is_fetched_for_each_set_of_programs() -> None:
    failed = ProcessRun(4, "h", error="ValueError: no")
    assert leads([run(0), run(1, "bb"), run(2), run(3, "bb"), failed]) == {0: (0, 2), 1: (1, 3)}


def test_processes_are_written_as_ranges_and_equal_texts_once() -> None:
    assert ranges([7]) == "process 7"
    assert ranges([0, 1, 2, 4]) == "processes 0–2 and 4"
    assert said([(0, "a"), (1, " "), (2, "a")]) == {"a": (0, 2)}


def test_one_deviant_among_a_thousand_is_found_and_the_page_stays_small() -> None:
    runs = [
        ProcessRun(
            i,
            f"host{i // 8}",
            tuple(
                ProcessProgram(
                    f"f{k}",
                    f"In [3]:{k}",
                    fingerprint="odd" if (i, k) == (617, 10) else f"{k:08x}",
                    compile_s=0.1 + (i * 37 % 101) / 1000,
                )
                for k in range(16)
            ),
            lines=tuple((k, (2.0 if i == 617 else 1.0) * k) for k in range(1, 30)),
        )
        for i in range(1000)
    ]
    tracemalloc.start()
    try:
        result = ClusterRun(runs)
        page, text = result.static_html(), result.to_text(width=100)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.programs[0].processes == (617,)
    assert "`f10` differs: 1 of 1000: process 617" in text
    assert all(found.highest == 617 for found in result.lines.values())
    assert 'aria-label="1 of 1000: process 617"' in page  # the strip
    assert len(page.encode()) < 50_000
    assert peak < 100e6


def ordered(process: int, names: str, *, device: int = 0) -> ProcessRun:
    runs = [
        CollectiveRun(f"jit_{n}", "psum", 2 * process + device, t, t + 1)
        for t, n in enumerate(names)
    ]
    groups = {(f"jit_{n}", "psum"): ((0, 2), (1, 3)) for n in "ab"} | {
        ("jit_c", "psum"): ((0, 1), (2, 3))
    }
    own = (2 * process, 2 * process + 1)
    return ProcessRun(process, "h", exchanges=exchange_orders(runs, groups, own))


def test_the_first_collective_in_a_different_order_is_named() -> None:
    assert merged([ordered(0, "aab"), ordered(1, "aab")]).mismatch == ""
    found = merged([ordered(0, "aab"), ordered(1, "aba")])
    assert (
        "Collective 2 is `psum` of `a` on process 0 and `psum` of `b` on process 1"
        in found.mismatch
    )
    assert (
        "is `psum` of `a` on process 0 and no more on process 1"
        in merged([ordered(0, "aa"), ordered(1, "a")]).mismatch
    )
    document = run_document(found, None)
    assert "the order of calls differs" in document.first_line


def called(process: int, names: str) -> ProcessRun:
    groups = {("jit_a", "psum"): ((0, 2),), ("jit_b", "psum"): ((0, 2),), ("jit_c", "psum"): ()}
    calls = [(f"jit_{name}", "f32[8]") for name in names]
    return ProcessRun(process, "h", exchanges=call_orders(calls, groups, (2 * process,)))


def test_the_first_call_in_a_different_order_is_named() -> None:
    assert merged([called(0, "cab"), called(1, "acbc")]).mismatch == ""
    found = merged([called(0, "aab"), called(1, "aba")]).mismatch
    assert "Call 2 is `a(f32[8])` on process 0 and `b(f32[8])` on process 1" in found


def test_a_difference_far_behind_is_found_without_its_name() -> None:
    found = merged([ordered(0, "a" * 500 + "b"), ordered(1, "a" * 501)])
    assert "After 100 equal collectives" in found.mismatch


def test_collectives_inside_a_process_and_of_other_groups_may_differ() -> None:
    assert merged([ordered(0, "accb"), ordered(1, "ab")]).mismatch == ""
    assert merged([ordered(0, "ab"), ordered(1, "ba", device=1)]).mismatch == ""
