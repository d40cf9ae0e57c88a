"""Hand-built compile logs for the tests of their views."""

from __future__ import annotations

import dataclasses
import importlib.util
from typing import Any

from jaxscope.model.compile_log import Log, LogSource
from tests.paths import ROOT

HOME = ROOT / "tests" / "data" / "log"


def builder() -> Any:
    spec = importlib.util.spec_from_file_location("build_log", HOME / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def many(number: int) -> Log:
    """Compiles of as many lines."""
    source = LogSource("/tmp/a.py", "a.py", tuple((n, f"f{n}(x)") for n in range(1, number + 1)))
    base = builder().log().compiles[0]
    made = [
        dataclasses.replace(
            base,
            fun_name=f"f{n}",
            serial=n,
            compile_s=n / 1000,
            site=dataclasses.replace(base.site, source=0, span=base.site.span._replace(line=n)),
            stack=(),
        )
        for n in range(1, number + 1)
    ]
    return Log("2027-01-15T08:00:00+00:00", tuple(made), sources=(source,))
