"""The pages of `%jaxscope` and `%jaxdevices`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jaxscope

if TYPE_CHECKING:
    from jaxscope.magics.session import Session


def overview(session: Session, shell: Any) -> None:
    """Version, devices, what is on, and where to go next."""
    print(f"jaxscope {jaxscope.__version__}")  # noqa: T201
