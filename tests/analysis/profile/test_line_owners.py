"""The lines of instructions by the frames that JAX writes into a program."""

from __future__ import annotations

from jaxscope.analysis.hlo import HloModule, parse_module
from jaxscope.analysis.profile.line_owners import of_frames

HELPER, FUNCTION, CALLER = (1, "helper"), (2, "step"), (3, "<module>")


def module(name: str, *stacks: tuple[tuple[int, str], ...]) -> HloModule:
    """A program whose instructions have these frames, innermost first: line and function."""
    functions = list(dict.fromkeys(f for stack in stacks for _, f in stack))
    places = list(dict.fromkeys(frame for stack in stacks for frame in stack))
    chains = list(dict.fromkeys(s[n:] for s in stacks for n in reversed(range(len(s)))))
    number = {chain: n for n, chain in enumerate(chains, 1)}
    rows = [
        f"{n} {{file_location_id={places.index(chain[0]) + 1} "
        f"parent_frame_id={number.get(chain[1:], 0) + 1}}}"
        for chain, n in number.items()
    ]
    text = [f"HloModule jit_{name}, entry_computation_layout={{(f32[8]{{0}})->f32[8]{{0}}}}", ""]
    text += ["FileNames", '1 "cell.py"', '2 "caller.py"', "", "FunctionNames"]
    text += [f'{n} "{function}"' for n, function in enumerate(functions, 1)]
    text += ["", "FileLocations"]
    text += [
        f"{n} {{file_name_id={1 + (f == '<module>')} "
        f"function_name_id={functions.index(f) + 1} line={line}}}"
        for n, (line, f) in enumerate(places, 1)
    ]
    text += ["", "StackFrames", *rows, "", "ENTRY %main (x: f32[8]) -> f32[8] {"]
    text += ["  %x = f32[8]{0} parameter(0)"]
    for n, stack in enumerate(stacks):
        root = "ROOT " if n == len(stacks) - 1 else ""
        frame = f"metadata={{stack_frame_id={number[stack]}}}"
        text.append(f"  {root}%neg.{n} = f32[8]{{0}} negate(%x), {frame}")
    return parse_module("\n".join([*text, "}", ""]))


def lines(found: HloModule) -> list[int]:
    return [origin.place.line for origin in of_frames(found, {"cell.py": 0}, 0).values()]


def test_the_innermost_frame_of_a_source_is_the_line() -> None:
    assert lines(module("step", (HELPER, FUNCTION, CALLER), (FUNCTION, CALLER))) == [1, 2]


def test_who_called_the_function_is_no_line_of_it() -> None:
    found = module("step", (FUNCTION, CALLER), (HELPER, FUNCTION, CALLER))
    assert of_frames(found, {"caller.py": 0}, 0) == {}
    assert lines(found) == [2, 1]


def test_where_no_frame_has_the_name_what_all_share_is_outside() -> None:
    found = module("partial", (HELPER, (5, "run"), CALLER), (FUNCTION, (5, "run"), CALLER))
    assert of_frames(found, {"caller.py": 0}, 0) == {}
    assert lines(found) == [1, 2]
    # All of it may come from one line: then that line is no caller.
    alone = module("partial", ((7, "run"), CALLER), ((7, "run"), CALLER))
    assert of_frames(alone, {"caller.py": 0}, 0) == {}
    assert lines(alone) == [7, 7]
