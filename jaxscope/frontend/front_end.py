"""The front end that shows the displays of this process."""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from typing import Any


class FrontEnd(StrEnum):
    """A front end, as far as displays depend on it."""

    NONE = "none"
    """A terminal or a script: text only."""
    JUPYTER = "jupyter"
    """JupyterLab, Notebook, and other front ends that preserve unknown MIME types."""
    VSCODE = "vscode"
    COLAB = "colab"


def front_end() -> FrontEnd:
    """The front end of this process, as far as a kernel can detect it."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython is not None else None
    if getattr(shell, "kernel", None) is None:
        return FrontEnd.NONE
    if "google.colab" in sys.modules:
        return FrontEnd.COLAB
    # VS Code names its document in the notebook's namespace. Started without a Jupyter server, its
    # kernel inherits the variable of the process; a JupyterLab that was started in a terminal of
    # VS Code has it too, but then its server names the session.
    alone = "VSCODE_PID" in os.environ and "JPY_SESSION_NAME" not in os.environ
    if "__vsc_ipynb_file__" in shell.user_ns or alone:
        return FrontEnd.VSCODE
    return FrontEnd.JUPYTER
