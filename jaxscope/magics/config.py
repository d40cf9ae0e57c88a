"""jaxscope's defaults, its session, and the magics about jaxscope itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand
from traitlets import Bool, Enum, Float, Integer, Unicode

from jaxscope.magics import status_pages
from jaxscope.magics.options.parser import completer, documented, usage_error
from jaxscope.magics.session.session import Session

if TYPE_CHECKING:
    from jaxscope.cluster.cluster import Cluster
    from jaxscope.magics.family import Completer, Family


@magics_class
class JaxScope(Magics):
    """jaxscope's defaults; set them with `%config JaxScope.view = "text"`."""

    view = Enum(("auto", "widget", "html", "text"), "auto", help="How reports are shown.").tag(
        config=True
    )
    runs = Integer(
        None, allow_none=True, help="Runs of a program; None: as many as fit in half a second."
    ).tag(config=True)
    device = Unicode("", help="Device of the programs, such as cpu:1; empty: JAX's default.").tag(
        config=True
    )
    quiet = Bool(False, help="Show one line instead of the report.").tag(config=True)
    footer = Bool(False, help="Whether %jaxwatch is on.").tag(config=True)
    footer_s = Float(
        0.5, min=0.0, help="Seconds of compilation from which %jaxwatch on reports a cell."
    ).tag(config=True)

    def __init__(self, shell: Any) -> None:
        super().__init__(shell=shell)
        self._shell = shell
        self.session = Session(shell)
        self.raw_cell = ""
        self.families: tuple[Family, ...] = ()
        self.cluster: Cluster | None = None

    def keep_settings(self) -> None:
        """Leave the settings to the shell, for the next load: `%reload_ext` changes none."""
        names = self.trait_names(config=True)
        self._shell.config.JaxScope.update({name: getattr(self, name) for name in names})

    def attached(self) -> Cluster:
        """The cluster of this notebook; that of ipyparallel's default profile unless attached.

        Raises ClusterError where none is running.
        """
        if self.cluster is None:
            from jaxscope.cluster.engines import attach

            self.cluster = attach()
        return self.cluster

    def completers(self) -> dict[str, Completer]:
        return {"%jaxdevices": completer(status_pages.DEVICES, dict[str, Any])}

    @no_var_expand
    @line_magic
    @documented(status_pages.DEVICES, status_pages.DEVICE_EXAMPLES)
    def jaxdevices(self, line: str) -> None:
        status_pages.devices(self.session, line)

    @no_var_expand
    @line_magic
    def jaxscope(self, line: str) -> None:
        """Version, devices, state, and all magics."""
        if line.strip():
            raise usage_error("%jaxscope takes no options; `%jaxjit?` lists those of %%jaxjit.")
        status_pages.overview(self.session, self._shell)

    def before_cell(self, info: Any) -> None:
        """Record the cell as the front end sent it; start listening if jax is imported."""
        self.raw_cell = getattr(info, "raw_cell", "") or ""
        self.session.listen_if_jax_is_there()
        # Otherwise it is part of a different cell, or a help request.
        if getattr(info, "store_history", True):
            self.session.cell_begins(getattr(info, "cell_id", None) or "")

    def after_cell(self, result: Any = None) -> None:
        """Record the compilations of the cell."""
        self.session.listen_if_jax_is_there()
        if getattr(getattr(result, "info", None), "store_history", True):
            self.session.cell_ends(getattr(result, "execution_count", None))

    def close(self) -> None:
        """Uninstall everything."""
        self.session.close()
