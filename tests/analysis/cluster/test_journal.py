"""The files of `python -m jaxscope.watch`: whole, cut short, and of other kinds."""

import pytest

from jaxscope.analysis.cluster.journal import compilation, end, head, joined, read_journal
from jaxscope.model.cluster import ProcessProgram

STEP = ProcessProgram("step", "train.py:3", fingerprint="ab12", compile_s=0.5)


def text(process: int, processes: int = 2, job: str = "7") -> str:
    return head(process, processes, f"host{process}", job, "0.1.0") + compilation(STEP)


def test_a_whole_file_is_read() -> None:
    found = read_journal("process-0.jsonl", text(0) + end(9.0, ""))
    assert found.run is not None
    assert found.run.programs == (STEP,)
    assert (found.run.host, found.run.wall_s, found.note) == ("host0", 9.0, "")


@pytest.mark.parametrize("cut", range(1, 40, 3))
def test_of_a_file_cut_short_the_whole_lines_are_read(cut: int) -> None:
    found = read_journal("process-0.jsonl", (text(0) + compilation(STEP))[:-cut])
    assert found.run is not None
    assert found.run.programs == (STEP,)
    assert "ends inside a line" in found.note
    assert "Process 0 did not finish" in joined([found])[1][-1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "is not a file of"),
        ("[1]\n", "is not a file of"),
        ("not json\n", "is not a file of"),
        ('{"jaxscope_journal":9,"jaxscope":"3.1"}\n', "format 9 and this jaxscope reads 1"),
        ('{"jaxscope_journal":1,"process":0}\n', "is damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_sentence(content: str, words: str) -> None:
    found = read_journal("process-0.jsonl", content)
    assert found.run is None
    assert words in found.note


def test_processes_without_a_file_and_files_of_two_runs_are_named() -> None:
    whole = [read_journal(f"{i}", text(i, 4) + end(1.0, "")) for i in (0, 3)]
    runs, notes = joined(whole)
    assert [run.process for run in runs] == [0, 3]
    assert notes == ["Processes 1 and 2 of 4 left no file."]
    mixed = [whole[0], read_journal("3", text(3, 4, job="8") + end(1.0, ""))]
    assert "different runs" in joined(mixed)[1][0]
