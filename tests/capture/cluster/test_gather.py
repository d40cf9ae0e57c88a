"""Values of many processes, brought together by the last one."""

from concurrent.futures import ThreadPoolExecutor

from jaxscope.analysis.cluster.runs import merged
from jaxscope.capture.cluster.gather import gathered
from jaxscope.model.cluster import ProcessProgram, ProcessRun
from tests.capture.cluster.test_exchange import MemoryStore


def test_one_process_of_a_hundred_gets_all_values_and_the_keys_are_removed() -> None:
    store, number = MemoryStore(), 100

    def one(process: int) -> list[ProcessRun]:
        odd = "deadbeef" if process == 61 else "00000001"
        program = ProcessProgram("step", fingerprint=odd, compile_s=0.1)
        return gathered(store, "here", process, number, ProcessRun(process, "a", (program,)))

    with ThreadPoolExecutor(number) as threads:
        found = [runs for runs in threads.map(one, range(number)) if runs]
    assert len(found) == 1
    whole = merged(found[0])
    assert whole.processes == tuple(range(number))
    assert whole.programs[0].processes == (61,)
    assert store.values == {}
