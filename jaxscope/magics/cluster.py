"""`%jaxcluster`: one JAX program on the engines of ipyparallel or Dask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from IPython.core.magic import line_cell_magic, magics_class, no_var_expand

from jaxscope.magics import display
from jaxscope.magics.family import Completer, Family
from jaxscope.magics.on_engines import failed, print_output, say
from jaxscope.magics.options import transforms
from jaxscope.magics.options.parser import (
    Parser,
    action_completer,
    documented,
    number,
    require_jax,
    usage_error,
)

if TYPE_CHECKING:
    from jaxscope.cluster import Cluster

_ACTIONS = ("attach", "init", "status", "guard", "run", "profile", "load", "restart")
_CELLS = ("run", "profile")
"""Those that take a cell, or a call."""
_GUARDS = ("off", "warn", "on")
_PARSER = Parser(
    "jaxcluster",
    "Run one JAX program on many processes: connect them, and compare what they compile.",
    (
        "%jaxcluster attach [CLIENT | ADDRESS] [--profile NAME]",
        "%jaxcluster init [--devices-per-process N] [--guard off|warn|on]",
        "%jaxcluster guard off|warn|on [--wait SECONDS]",
        "%%jaxcluster run|profile",
        "%jaxcluster run|profile step(x)",
        "%jaxcluster load FOLDER",
        "%jaxcluster status",
        "%jaxcluster restart",
    ),
)
_PARSER.add_argument("action", choices=_ACTIONS, help="The action to take.")
_PARSER.add_argument(
    "value",
    nargs="?",
    help="attach: a Client, or Dask's address; guard: off, warn, on; load: a folder.",
)
_PARSER.add_argument("--profile", metavar="NAME", help="With attach: ipyparallel's profile.")
_PARSER.add_argument(
    "--devices-per-process",
    type=number(int, lambda n: n >= 1, "a number of devices, 1 or more"),
    metavar="N",
    help="With init: simulate N CPU devices on each process.",
)
_PARSER.add_argument(
    "--guard", choices=_GUARDS, help="With init: the guard to begin with. Default: warn."
)
_PARSER.add_argument(
    "--wait",
    type=number(float, lambda s: s > 0, "a number of seconds above 0"),
    metavar="SECONDS",
    help="With guard: how long a compilation waits for the other processes. Default: 20.",
)
_PARSER.add_display("result", views=("auto", "html", "text"))
_EXAMPLES = """
    %jaxcluster attach rc          the engines of an ipyparallel.Client
    %jaxcluster attach             those of ipyparallel's running default cluster
    %jaxcluster attach client      the workers of a distributed.Client of Dask
    %jaxcluster attach tcp://10.0.0.5:8786
    %jaxcluster init               jax.distributed.initialize on each; the pre-flight table
    %jaxcluster init --devices-per-process 2
    %jaxcluster guard on           a divergence raises on every process before anything runs
    %%jaxcluster run               run the cell on every engine
    import jax
    print(jax.process_index())

    %%jaxcluster profile           run the cell on every engine: who made the others wait, and why
    for batch in batches:
        state = step(state, batch)

    %jaxcluster load jaxscope-run  the files of `python -m jaxscope.watch train.py`
    %jaxcluster status             guard, compilations compared, divergences
    %jaxcluster restart            end a hang; all names on the engines are lost
"""


@magics_class
class Clusters(Family):
    """The cluster of this notebook."""

    def completers(self) -> dict[str, Completer]:
        complete = action_completer(_PARSER, {**dict.fromkeys(_ACTIONS, ()), "guard": _GUARDS})
        return {"%jaxcluster": complete, "%%jaxcluster": complete}

    @no_var_expand
    @line_cell_magic
    @documented(_PARSER, _EXAMPLES)
    def jaxcluster(self, line: str, cell: str | None = None) -> None:
        __tracebackhide__ = True
        code, line = cell, line.strip()
        action = line.partition(" ")[0]
        if action in _CELLS:
            tokens, rest = transforms.split(line.removeprefix(action), _PARSER)
            if (cell is None) != bool(rest):
                raise usage_error(
                    f"%jaxcluster {action} takes a call, such as %jaxcluster {action} step(x). "
                    f"%%jaxcluster {action} takes the cell."
                )
            code = f"# %jaxcluster {line}\n{rest if cell is None else cell}"
            line = " ".join([action, *tokens])
        elif cell is not None:
            raise usage_error(
                "Of %%jaxcluster, only `%%jaxcluster run` and `%%jaxcluster profile` take a cell."
            )
        if not line.split():
            raise usage_error(f"%jaxcluster takes {', '.join(_ACTIONS)}. {_PARSER.page()}")
        given = _PARSER.parse_args(line.split())
        require_jax("jaxcluster")
        from jaxscope.capture.cluster.process import ClusterError

        try:
            found = self._act(given, code)
        except ClusterError as error:
            raise usage_error(str(error)) from None
        except KeyboardInterrupt:
            raise KeyboardInterrupt from None
        if found is None:
            return
        if given.report is not None:
            self._shell.user_ns[given.report] = found
        view, quiet = given.view or self.scope.view, given.quiet or self.scope.quiet
        with display.attempt("show the cluster"):
            display.show(found, self._shell, view, quiet)
        if errors := getattr(found, "errors", None):
            raise usage_error(failed(errors))

    def _act(self, given: Any, code: str | None) -> Any:
        if given.action == "attach":
            return self._attach(given)
        if given.action == "load":
            if given.value is None:
                raise usage_error("%jaxcluster load takes a folder of `python -m jaxscope.watch`.")
            from jaxscope.cluster.script import load

            return load(given.value.strip("\"'"))
        cluster = self.scope.attached()
        if given.action == "init":
            return cluster.init(
                devices_per_process=given.devices_per_process, guard=given.guard or "warn"
            )
        if given.action == "guard":
            mode = given.value or given.guard
            if mode is None:
                raise usage_error("%jaxcluster guard takes off, warn or on.")
            cluster.guard(mode, **({} if given.wait is None else {"wait_s": given.wait}))
            display.say(f"The guard is {mode}.")
            return None
        if given.action == "run":
            return self._run(cluster, code or "")
        if given.action == "profile":
            waits = cluster.profile(code or "", say)
            print_output(waits.printed, len(cluster))
            return waits
        if given.action == "restart":
            cluster.restart()
            display.say("The engines were restarted: %jaxcluster init connects them again.")
            return None
        return cluster.status()

    def _run(self, cluster: Cluster, code: str) -> None:
        __tracebackhide__ = True
        found = cluster.run_cell(code, say).merged
        print_output(found.printed, len(cluster))
        if found.failed:
            raise usage_error(failed(found.failed))

    def _attach(self, given: Any) -> None:
        client = None
        if given.value is not None:
            if ":" not in given.value and given.value not in self._shell.user_ns:
                raise usage_error(f"There is no variable `{given.value}`.")
            client = self._shell.user_ns.get(given.value, given.value)
        from jaxscope.cluster.engines import attach

        cluster = attach(client, profile=given.profile)
        cluster.activate()
        self.scope.cluster = cluster
        display.say(f"Attached to {len(cluster)} engines: %jaxcluster init connects them.")
