"""Options of one run, and the errors for options that cannot be followed."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass

from jaxscope.analysis.targets.mesh import MeshPlan, read_mesh, target_of
from jaxscope.analysis.targets.names import Target, TargetNameError
from jaxscope.capture.options.composition import JIT, Composition
from jaxscope.capture.options.profile_plan import ProfilePlan

_LATE_OPTIONS = re.compile(r"(.*\))\s+(--?[a-z].*)", re.DOTALL)


class SettingsError(ValueError):
    """An option that cannot be followed; the text is a sentence for the user."""


class TransformError(SettingsError, TypeError):
    """A transform that does not fit the program; the text is a sentence for the user."""


class NoInputError(TransformError):
    """A transform without an input to work on: no float input, or no axis."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Options of one run. Names are those of the user's variables or arguments."""

    static: tuple[str, ...] = ()
    """Made static by value, whatever their type."""
    traced: tuple[str, ...] = ()
    """Traced although their type would make them static (an int, say)."""
    donate: tuple[str, ...] = ()
    device: str | None = None
    """`cpu:1`, `gpu`; None for JAX's default."""
    runs: int | None = None
    """None: as often as the time limits allow; 0: compile only; N: exactly N."""
    _: KW_ONLY
    x64: bool = False
    only: tuple[str, ...] = ()
    """Function form: compile the calls to these functions only."""
    recompile: bool = True
    """Compile a function that has run before once more, with tags, to link its lines."""
    exact: bool = False
    """Follow the passes of XLA, with one more compilation, to settle inferred links."""
    compile_time: bool = False
    """Clock the compilations by line."""
    profile: ProfilePlan | None = None
    """The calls to profile; None: no profile."""
    target: str | None = None
    """Compile for this device instead, `tpu:v5e:2x2`, and run nothing."""
    mesh: str = ""
    """Axes of a mesh over the target's devices: `data=2,model=2`."""
    specs: tuple[str, ...] = ()
    """Shardings of inputs on the mesh: `x=data,None`."""
    composition: Composition = JIT
    """The transforms to apply, outermost first."""

    def __post_init__(self) -> None:
        if self.runs is not None and self.runs < 0:
            raise SettingsError(
                f"runs is {self.runs}; it must be 0 (compile only), 1 (run once) or more."
            )
        self._check_target()
        both = sorted(set(self.static) & set(self.traced))
        if both:
            raise SettingsError(
                f"`{both[0]}` cannot be both static and traced; name it in one of the two."
            )

    @property
    def keeps_the_call(self) -> bool:
        """Whether no option changes what a call compiles to."""
        chosen = (self.names_arguments, self.device, self.target, self.x64)
        return self.composition.is_plain and not any(chosen)

    @property
    def names_arguments(self) -> bool:
        """Whether -s, -t or -d gives an argument an option."""
        return bool(self.static or self.traced or self.donate)

    @property
    def compiled_for(self) -> Target | None:
        """The target; None for JAX's own devices."""
        return None if self.target is None else target_of(self.target, self.mesh_plan)

    @property
    def mesh_plan(self) -> MeshPlan | None:
        """The mesh over the target's devices."""
        return read_mesh(self.mesh, self.specs) if self.mesh else None

    def _check_target(self) -> None:
        try:
            target = self.compiled_for
        except TargetNameError as error:
            raise SettingsError(str(error)) from None
        if self.specs and not self.mesh:
            raise SettingsError("--spec places inputs on a mesh: name it, --mesh data=2,model=2.")
        if target is None:
            if self.mesh:
                raise SettingsError("--mesh is over the devices of a target: name it, --target.")
            return
        runs = {"runs": bool(self.runs), "device": self.device is not None}
        runs |= {"profile": self.profile is not None}
        if other := next((name for name, given in runs.items() if given), ""):
            raise SettingsError(
                f"A program for {target.name} is compiled and not run: leave out {_OPTIONS[other]}."
            )
        if any(segment.name == "pmap" for segment in self.composition.segments):
            raise SettingsError(
                "pmap needs devices that are there. Compile a sharded program for a target with "
                "`jit`."
            )

    def check_names(self, known: Sequence[str], absent: Callable[[str], str], noun: str) -> None:
        """Raises SettingsError where -s, -t or -d names something that is not `known`.

        `absent` is why a name is not, after `which`.
        """
        for option, name in self.named_arguments():
            if name not in known:
                listing = ", ".join(known) or "none"
                raise SettingsError(
                    f"{option} names `{name}`, which {absent(name)}. Its {noun} are: {listing}."
                )

    def without_effect(self, known: Collection[str]) -> Iterator[str]:
        """A note for each option that names no parameter of the compiled functions."""
        for option, name in self.named_arguments():
            if name not in known:
                yield (
                    f"`{option} {name}` had no effect: it takes a parameter of a function that "
                    f"jaxscope compiles here. Those are: {', '.join(known) or 'none'}."
                )

    def named_arguments(self) -> Iterator[tuple[str, str]]:
        """The options that name arguments, each with one name."""
        for option, names in (("-s", self.static), ("-t", self.traced), ("-d", self.donate)):
            for name in names:
                yield option, name


_OPTIONS = {"runs": "`-n`", "device": "`--device`", "profile": "the profile"}


def not_an_expression(text: str, error: SyntaxError | ValueError) -> SettingsError:
    """The refusal of a text that Python cannot parse; options after a call belong before it."""
    late = _LATE_OPTIONS.fullmatch(text.strip())
    reason = error.msg if isinstance(error, SyntaxError) else str(error)
    if late is not None:
        reason = f"options come first, `{late[2]} {late[1]}`"
    return SettingsError(f"`{text}` is not a Python expression: {reason}.")
