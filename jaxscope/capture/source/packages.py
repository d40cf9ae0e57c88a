"""Installed packages that the user's code calls, and whether they are written for JAX."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from jaxscope.capture.source.frames import is_installed, is_user_file


def package_without_jax(function: Any) -> str:
    """The installed package of a function, where its module does not use JAX; else empty."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    if not is_installed(getattr(module, "__file__", None) or "") or _uses_jax(vars(module)):
        return ""
    return getattr(module, "__name__", "").partition(".")[0]


def calling_packages(error: BaseException) -> tuple[str, str]:
    """The installed package that asks an array for its values, such as `matplotlib`; and the last
    one without JAX that the user's code calls, such as SciPy, which may call back. Else empty."""
    asking = host = ""
    of_user = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__")).partition(".")[0]
        if package in ("jax", "jaxlib", "numpy"):
            continue
        asking = package if is_installed(frame.f_code.co_filename) else ""
        of_user = of_user or is_user_file(frame.f_code.co_filename)
        if asking and of_user:
            host = "" if _uses_jax(frame.f_globals) else package
    return asking, host


def _uses_jax(module: Mapping[str, Any]) -> bool:
    modules = (value for value in module.values() if isinstance(value, ModuleType))
    return any(one.__name__.partition(".")[0] == "jax" for one in modules)
