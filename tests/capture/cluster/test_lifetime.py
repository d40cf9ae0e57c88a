"""A process ends with the one that it belongs to, and with no other."""

import subprocess
import sys

from jaxscope.capture.cluster.lifetime import process_key

ENGINE = """
import sys, threading
from jaxscope.capture.cluster.lifetime import end_with
threading.Timer(20, lambda: None).start()
end_with(sys.argv[1], int(sys.argv[2]), [int(sys.argv[3])])
print("ready", flush=True)
"""


def test_an_engine_and_its_controller_end_with_the_notebook() -> None:
    notebook, controller = (subprocess.Popen(["sleep", "30"]) for _ in range(2))
    space, _ = process_key()
    command = [sys.executable, "-c", ENGINE, space, str(notebook.pid), str(controller.pid)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as engine:
        assert engine.stdout is not None
        assert engine.stdout.readline() == "ready\n"
        assert engine.poll() is None
        notebook.kill()
        assert engine.wait(10) == 1
        assert controller.wait(10) == -15
        notebook.wait(10)
