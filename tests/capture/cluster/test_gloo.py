"""Gloo's lines are dropped from a descriptor, and everything else passes."""

import os

from jaxscope.capture.cluster.gloo import GlooSilence


def test_the_lines_of_gloo_are_dropped_and_all_others_pass() -> None:
    read, write = os.pipe()
    silence = GlooSilence(write)
    silence.start()
    os.write(write, b"loss 0.5\n[Gloo] Rank 0 is connected to 3 peer ranks.\n[Gl")
    os.write(write, b"oo] Rank 1 is connected\n[Glorious]\nno end of line")
    silence.stop()
    os.write(write, b"[Gloo] Rank 2\n")  # all is as it was
    os.close(write)
    with os.fdopen(read, "rb") as found:
        assert found.read() == b"loss 0.5\n[Glorious]\nno end of line[Gloo] Rank 2\n"
