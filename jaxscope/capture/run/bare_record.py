"""The record of a run of which no more is known than that it ran."""

from __future__ import annotations

import datetime
import platform
import sys
from collections.abc import Sequence
from importlib import metadata

from jaxscope.model import Environment, Form, Record, Source
from jaxscope.version import __version__


def record(
    title: str, form: Form, sources: Sequence[Source], notes: Sequence[str], wall_s: float
) -> Record:
    """A record without programs; asks nothing of JAX, so that it can always be made."""
    return Record(
        title,
        form,
        datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        Environment(
            __version__,
            _version("jax"),
            _version("jaxlib"),
            platform.python_version(),
            f"{platform.system()}-{platform.release()} {platform.machine()}",
            devices=(),
            x64=bool(
                getattr(getattr(sys.modules.get("jax"), "config", None), "jax_enable_x64", False)
            ),
        ),
        tuple(sources),
        programs=(),
        compiles=(),
        notes=tuple(notes),
        wall_s=wall_s,
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"
