"""The texts of a program while its live handles exist, every line linked to equations."""

from __future__ import annotations

import functools
import threading
from typing import Any, assert_never

import jax

from jaxscope.analysis.hlo import HloModule, parse_module, parsed, real_instructions, too_long
from jaxscope.analysis.links.anchors import hlo_anchors, stablehlo_anchors
from jaxscope.analysis.links.attribution import Equations
from jaxscope.analysis.links.locator import Locator
from jaxscope.analysis.links.tags import TAG, clean_hlo
from jaxscope.analysis.passes.log import pass_headings, pass_log
from jaxscope.analysis.passes.remarks import remarks_text
from jaxscope.analysis.passes.snapshots import Snapshots
from jaxscope.analysis.passes.trail import INERT, Trail, trail
from jaxscope.analysis.stablehlo import parse_stablehlo
from jaxscope.capture.devices.memory import memory
from jaxscope.capture.jaxpr.tags import ALREADY_LOWERED, Tagged, untagged
from jaxscope.capture.jaxpr.text import print_jaxpr
from jaxscope.capture.program.compiled_again import RELEASED, UNSEEN, CompiledAgain
from jaxscope.capture.program.fusions import FusionRemarks
from jaxscope.capture.program.input_reader import InputReader
from jaxscope.capture.program.machine_code import (
    BelowHlo,
    below_hlo,
    below_hlo_stage,
    has_kernels,
)
from jaxscope.capture.program.target_code import below_target, target_stage
from jaxscope.capture.source.sources import SourceFiles
from jaxscope.capture.targets.compiled import TargetProgram
from jaxscope.capture.timing.sampling import quiet_gc
from jaxscope.model import Memory, Stage, StageKind, Unavailable

_NO_LINKS = "the lines of the compiled program are not linked: {}"
NO_TAGS = "the {} program has no tags, so its lines are matched by primitive and name"
_UNSEEN = UNSEEN.format("this stage is")
_NOT_COMPILED = "the program was not compiled"
_LLVM = (StageKind.LLVM, StageKind.LLVM_OPTIMIZED)
_UNNAMED = {"broadcast", "call", "fusion", "iota"}
"""XLA creates the broadcast of a constant, and the iota that a constant is, without a name."""


class Handles:
    """A `model.TextSource` over JAX's Traced, Lowered and Compiled objects.

    Only the passes, the fusion remarks and the LLVM IR compile, each once. Texts are created when
    first requested and kept, in any thread.
    """

    def __init__(
        self,
        traced: Any = None,
        lowered: Any = None,
        compiled: Any = None,
        tagged: Tagged | None = None,
        sources: SourceFiles | None = None,
        received: InputReader | None = None,
        text: str | None = None,
    ) -> None:
        """`traced` may be None when `tagged` has the equations; without `tagged`, the program
        counts as lowered elsewhere, and its links are not exact. `text` is its optimized HLO with
        tags, where `compiled` has none."""
        self.tagged = untagged(traced, sources or SourceFiles()) if tagged is None else tagged
        self.traced: Any = traced
        self.lowered: Any = lowered
        self.compiled: Any = compiled
        self._sources = sources
        self._received = received or InputReader(self.tagged, lowered)
        self.regions = self._received.regions
        """Reads the dataflow of its equations, for all that need it."""
        self._raw = self._given = text
        self._stages: dict[StageKind, Stage] = {}
        self._modules: dict[StageKind, HloModule] = {}
        self._again = CompiledAgain(self)
        self._below: BelowHlo | Unavailable | None = None
        self._trail: Trail | None = None
        self._settled: Equations = {}
        self._linked: Stage | None = None
        """The optimized HLO with links that nothing but the executable and the tags decide."""
        self.released = False
        self._unlinked = ""
        """The reason why no line of the compiled text has a link; empty where one has."""
        self._lock = threading.RLock()
        self.stored = b""
        """The executable before it ran, where XLA cannot store it afterwards: its sorts then hold
        a function to compare with. Seen on jaxlib 0.8.1, 0.10.2 and 0.12.0.1."""
        self.trace = b""
        """The profiler's last session of this program as XSpace; empty without a profile."""

    @functools.cached_property
    def memory(self) -> Memory | Unavailable:
        """XLA's planned memory of one run; a large program takes 50 ms to ask for."""
        return memory(self.compiled)

    def reuse(self, earlier: Handles) -> None:
        """Take over what an earlier run of the same executable has found, if its lines have the
        same equations by the same tags."""
        mine, theirs = self.tagged, earlier.tagged
        if earlier.compiled is not self.compiled or len(mine.equations) != len(theirs.equations):
            return
        if (mine.why, mine.other, mine.tag_paths) != (theirs.why, theirs.other, theirs.tag_paths):
            return
        with earlier._lock:
            self.memory = earlier.memory
            if (stage := earlier._linked) is not None:
                self._stages[stage.kind] = self._linked = stage
                self._unlinked = earlier._unlinked

    def raw(self) -> str:
        """The optimized HLO with its tags, printed once until `text` has read it."""
        if self._raw is None:
            self._raw = self._given or str(self.compiled.as_text() or "")
        return self._raw

    @property
    def foreign(self) -> TargetProgram | None:
        """The program of another device; None for one of JAX's own devices."""
        return self.compiled if isinstance(self.compiled, TargetProgram) else None

    def text(self, kind: StageKind) -> Stage:
        """The stage; without text, `unavailable` says why. Never raises."""
        with self._lock:
            stage = self._stages.get(kind)
            if stage is not None:
                return stage
            if self.released:
                return Stage(kind, unavailable=Unavailable(RELEASED))
            try:
                stage = self._make(kind)
            except Exception as error:
                reason = f"this JAX gave no {kind.label} text ({type(error).__name__}: {error})"
                stage = Stage(kind, unavailable=Unavailable(reason))
            if not (kind.costs_compile and self._again.lost):
                self._stages[kind] = stage
            return stage

    def module(self, kind: StageKind = StageKind.OPTIMIZED_HLO) -> HloModule | Unavailable:
        """The parsed HLO of `HLO` or `OPTIMIZED_HLO`, its lines numbered as in the stage's text."""
        with self._lock:
            stage = self.text(kind)
            if stage.unavailable is not None:
                return stage.unavailable
            if why := too_long(stage.text):
                return Unavailable(f"the {kind.label} could not be read: {why}")
            module = self._modules.get(kind)
            if module is None:
                try:
                    module = self._modules[kind] = parsed(stage.text)
                except ValueError as error:
                    return Unavailable(str(error))
            return module

    def passes(self) -> Snapshots | Unavailable:
        """The program after each pass of XLA; the first call compiles it once more."""
        with self._lock:
            return self._again.passes()

    def remarks(self) -> FusionRemarks | Unavailable:
        """The values that XLA did not fuse; the first call compiles the program once more."""
        with self._lock:
            return self._again.remarks()

    def compiles(self, kind: StageKind) -> bool:
        """Whether a request for the stage compiles the program once more."""
        with self._lock:
            if kind in self._stages or not self._again.compiles(kind):
                return False
            return kind not in _LLVM or has_kernels(self.below())

    def below(self) -> BelowHlo | Unavailable:
        """The executable that runs, below its HLO; compiles nothing."""
        with self._lock:
            if self._below is None:
                if self.released or self.compiled is None:
                    return Unavailable(RELEASED if self.released else _NOT_COMPILED)
                module = self.module()
                if isinstance(module, Unavailable):
                    return module
                stage = self.text(StageKind.OPTIMIZED_HLO)
                try:
                    if self.foreign is None:
                        self._below = below_hlo(self.compiled, module, stage, self.stored)
                    else:
                        self._below = below_target(self.compiled, module, stage)
                except Exception as error:
                    known = type(error) is ValueError
                    why = str(error) if known else f"this device gave none ({error})"
                    self._below = Unavailable(why.partition("\n")[0])
            return self._below

    def linked(self, raw: str) -> tuple[HloModule, Equations]:
        """The program in the midst of its passes, and the equations of its instructions by name,
        where their links are exact."""
        module = parse_module(raw)
        locator = self._locator(self._why(raw, "compiled"))
        anchors = hlo_anchors(module, locator, self._received.program)
        at = {anchor.line: anchor.equations for anchor in anchors if anchor.exact}
        return module, {name: at.get(one.line, ()) for name, one in module.by_name.items()}

    def trail(self) -> Trail:
        """Each instruction through the passes; `passes` has given them.

        Raises LookupError where their texts were not kept, and ValueError for a text that cannot be
        read.
        """
        with self._lock:
            if self._trail is None:
                passes = self._again.passes()
                if isinstance(passes, Unavailable):
                    raise LookupError(passes.reason)
                locator = self._locator(self._why(passes.raw(0), "lowered"))
                self._trail = trail(passes, locator)
            return self._trail

    def settle(self) -> float | Unavailable:
        """Follow the passes to link what the flow of data only infers.

        Returns the seconds of the compilation that it cost, 0 where every instruction has a link by
        its tag, or the reason why nothing is settled.
        """
        with self._lock:
            if self._is_exact():
                return 0.0
            found = self.passes()
            if isinstance(found, Unavailable):
                return found
            try:
                self._settled = self.trail().settled
            except (LookupError, ValueError) as error:
                return Unavailable(str(error).rstrip("."))
            self._stages.pop(StageKind.OPTIMIZED_HLO, None)
            self._modules.pop(StageKind.OPTIMIZED_HLO, None)
            # Their links come from it.
            self._below = None
            for kind in StageKind:
                if kind.on_request:
                    self._stages.pop(kind, None)
            return found.seconds

    def doubt(self) -> str:
        """The reason why some links of the compiled text are not exact; empty if all are.

        Reads the compiled text, which takes 15 ms for a 12-layer transformer. Instructions that XLA
        added without a name do not count; their anchors have a reason.
        """
        if self.tagged.why:
            return self.tagged.why
        stage = self.text(StageKind.OPTIMIZED_HLO)
        if self._unlinked:
            return self._unlinked
        doubts = (self.tagged.other, ALREADY_LOWERED, NO_TAGS.format("compiled"))
        return next((a.why for a in stage.anchors if a.why in doubts), "")

    def release(self) -> None:
        """Release the live objects; texts that were fetched stay."""
        with self._lock:
            self.released = True
            self.traced = self.lowered = self.compiled = None
            self._received.release()
            self.stored = b""

    def _is_exact(self) -> bool:
        """Whether each instruction that makes a value has an exact link."""
        module = self.module()
        anchors = self.text(StageKind.OPTIMIZED_HLO).anchors
        exact = {anchor.line for anchor in anchors if anchor.exact}
        return isinstance(module, HloModule) and all(
            i.line in exact for i in module.instructions() if i.opcode not in INERT
        )

    def _make(self, kind: StageKind) -> Stage:
        match kind:
            case StageKind.JAXPR:
                if self.tagged.jaxpr is None:
                    return Stage(kind, unavailable=Unavailable(self.tagged.why))
                text, anchors = print_jaxpr(self.tagged)
                return Stage(kind, text, None, anchors)
            case StageKind.STABLEHLO:
                if self.lowered is None:
                    return Stage(kind, unavailable=Unavailable(_UNSEEN))
                raw = self.lowered.as_text("stablehlo", debug_info=True)
                module = parse_stablehlo(raw)
                locator = self._locator(self._why(raw, "lowered"))
                return Stage(kind, module.text, None, stablehlo_anchors(module, locator))
            case StageKind.HLO:
                if self.lowered is None:
                    return Stage(kind, unavailable=Unavailable(_UNSEEN))
                return self._hlo(kind, self.lowered.as_text("hlo", debug_info=True))
            case StageKind.PASSES:
                passes = self.passes()
                if isinstance(passes, Unavailable):
                    return Stage(kind, unavailable=passes)
                if headings := pass_headings(passes):
                    return Stage(kind, headings)
                text, anchors = pass_log(passes, self.trail())
                return Stage(kind, text, None, anchors)
            case StageKind.REMARKS:
                found = self.remarks()
                if isinstance(found, Unavailable):
                    return Stage(kind, unavailable=found)
                text, anchors = remarks_text(found.remarks, found.equations)
                return Stage(kind, text, None, anchors)
            case StageKind.OPTIMIZED_HLO:
                if self.compiled is None:
                    return Stage(kind, unavailable=Unavailable(_NOT_COMPILED))
                text, self._raw = self.raw(), None
                if not text:
                    reason = "this device has no optimized HLO text"
                    return Stage(kind, unavailable=Unavailable(reason))
                return self._hlo(kind, text)
            case (
                StageKind.THUNKS
                | StageKind.LLVM
                | StageKind.LLVM_OPTIMIZED
                | StageKind.PTX
                | StageKind.ASM
                | StageKind.SASS
                | StageKind.LLO
            ):
                return self._below_hlo(kind)
            case _:
                assert_never(kind)

    def _below_hlo(self, kind: StageKind) -> Stage:
        module = self.module() if self.foreign else None
        if self.foreign and isinstance(module, HloModule):
            stage = self.text(StageKind.OPTIMIZED_HLO)
            return target_stage(kind, self.foreign, self.below, module, stage)
        return below_hlo_stage(kind, self.below(), self._again.llvm)

    @quiet_gc(keeps=True)  # a third of the time: nothing of it becomes garbage
    def _hlo(self, kind: StageKind, raw: str) -> Stage:
        shown = clean_hlo(raw)
        text = shown.text
        compiled = kind is StageKind.OPTIMIZED_HLO
        if long := too_long(raw):
            self._unlinked = _NO_LINKS.format(long) if compiled else ""
            return Stage(kind, text)
        # A text from the persistent cache has the frames of the program that was stored.
        cached = compiled and bool(getattr(jax.config, "jax_compilation_cache_dir", None))
        why = self._why(raw, "compiled" if compiled else "lowered")
        if why == ALREADY_LOWERED and cached:
            why = NO_TAGS.format("compiled")
        locator = self._locator(why, trust_frames=not cached)
        received = self._received.program if compiled else None
        module = parsed(text)
        settled = self._settled if compiled else None
        anchors = hlo_anchors(module, locator, received, settled, shown)
        named = [i for i in real_instructions(module) if i.opcode not in _UNNAMED]
        if compiled and why and not anchors and named:
            self._unlinked = _NO_LINKS.format("it has no tags")
        stage = Stage(kind, text, None, anchors)
        if compiled and not cached and not settled:
            self._linked = stage
        return stage

    def _why(self, raw: str, program: str) -> str:
        """The reason why the text of a program has no tags; empty if it has."""
        if self.tagged.why or TAG.search(raw):
            return self.tagged.why
        return NO_TAGS.format(program)

    def _locator(self, why: str, *, trust_frames: bool = True) -> Locator:
        tagged, candidates = self.tagged, self._received.candidates
        return Locator(
            tagged.tag_paths, candidates, why, other=tagged.other, trust_frames=trust_frames
        )
