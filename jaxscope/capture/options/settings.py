"""What the user asked for: the options that every transform shares."""

from __future__ import annotations

from dataclasses import dataclass

from jaxscope.capture.options.profile_plan import ProfilePlan


class SettingsError(ValueError):
    """What was asked for cannot be done, in a sentence for the user."""


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
    x64: bool = False
    only: tuple[str, ...] = ()
    """Decorator form: these functions instead of the roots."""
    profile: ProfilePlan | None = None
    """Measure the time inside the program, by calls like these; None: do not."""

    def __post_init__(self) -> None:
        if self.runs is not None and self.runs < 0:
            raise SettingsError(
                f"runs is {self.runs}; it must be 0 (compile only), 1 (run once) or more."
            )
        both = sorted(set(self.static) & set(self.traced))
        if both:
            raise SettingsError(
                f"`{both[0]}` cannot be both static and traced; name it in one of the two."
            )
