"""Results of a record about the compiler's work on its programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxscope.model import Persistent, StageKind, Unavailable
from jaxscope.model.compiler.machine_code import MachineKernel
from jaxscope.model.profile import Profile
from jaxscope.results.live_record import LiveRecord, stage_kind

if TYPE_CHECKING:
    from jaxscope.results.compile_time import CompileTimes
    from jaxscope.results.passes import Passes
    from jaxscope.results.remarks import Remarks

_NO_CLOCK = Unavailable("it was not requested; `--compile-time` or its option measures it")
_NO_PASSES = Unavailable("passes are not saved with a report; run it again")
_NO_REMARKS = Unavailable("fusion remarks are of a program that is alive; run it again")
_NO_KERNELS = Unavailable("kernels are not saved with a report; run it again")


class CompilerRecord(LiveRecord):
    """A record whose programs can be followed through the compiler while they are alive."""

    def compile_time(self) -> CompileTimes | Unavailable:
        """Seconds of compilation by line, phase, and pass or kernel, with the equations by line.

        Measured where it was requested: `jaxscope.options(compile_time=True)`, `--compile-time`.
        """
        from jaxscope.results.compile_time import CompileTimes

        found = self.record.compile_time
        if found is None:
            return _NO_CLOCK
        return found if isinstance(found, Unavailable) else CompileTimes(found)

    def price(self, kind: str, program: int = 0) -> float | None:
        """Estimated seconds of the compilation that a request for this stage takes.

        From those of the first compilation and the size of the program: the time taken was 0.65 to
        1.45 times this for programs of 10 to 36 000 instructions. 0 where nothing compiles. None
        where the first compilation was not seen, or came from the persistent cache. It starts the
        process that compiles, which takes 0.6 s once. Raises ValueError for a stage that does not
        exist.

        Example:
            >>> report.price("passes")
        """
        from jaxscope.capture.program.compiled_again import dump_price
        from jaxscope.capture.program.dump_process import prepare
        from jaxscope.capture.program.stages import Handles

        wanted = stage_kind(kind)
        source = self._texts[program] if self.programs else None
        if not isinstance(source, Handles) or not source.compiles(wanted):
            return 0.0
        prepare(source.lowered)
        first = self._first_s(program)
        if first is None:
            return None
        sizes = [
            source.text(one).text.count(" = ")
            for one in (StageKind.OPTIMIZED_HLO, StageKind.STABLEHLO)
        ]
        return dump_price(wanted, first, *sizes)

    def _first_s(self, program: int) -> float | None:
        """Seconds of XLA when it compiled the program; None where it came from the persistent
        cache."""
        compiles = [self.record.compiles[i] for i in self.programs[program].compiles]
        if any(one.persistent is Persistent.HIT for one in compiles):
            return None
        return sum(one.compile_s for one in compiles) or None

    def passes(self, program: int = 0) -> Passes | Unavailable:
        """The passes of XLA that changed the program, with the HLO before and after each.

        The first call compiles the program once more: `price("passes")` says for how long, and the
        result how long it took.
        """
        from jaxscope.capture.program.stages import Handles
        from jaxscope.results.passes import Passes

        source = self._texts[program] if self.programs else None
        if not isinstance(source, Handles):
            return self._no_program() if not self.programs else _NO_PASSES
        found, about = source.passes(), self.programs[program]
        if isinstance(found, Unavailable):
            return found
        return Passes(about.title, found, source.trail, about.equations, self._first_s(program))

    def remarks(self, program: int = 0) -> Remarks | Unavailable:
        """The values that XLA did not fuse into their consumers, with its reasons, by line.

        The first call compiles the program once more, with the log of XLA's fusion pass:
        `price("remarks")`.
        """
        from jaxscope.capture.program.stages import Handles
        from jaxscope.results.remarks import Remarks
        from jaxscope.view.profile.instructions import seconds_per_byte

        source = self._texts[program] if self.programs else None
        if not isinstance(source, Handles):
            return self._no_program() if not self.programs else _NO_REMARKS
        found, about = source.remarks(), self.programs[program]
        if isinstance(found, Unavailable):
            return found
        cost = about.cost
        bytes_accessed = None if isinstance(cost, Unavailable) else cost.bytes_accessed
        rates: dict[str, float] = {}
        call_s = 0.0
        profile = about.profile
        if isinstance(profile, Profile):
            self.stage(StageKind.OPTIMIZED_HLO, program)  # the costs are read from its text
            about = self.programs[program]
            rates, call_s = seconds_per_byte(about, profile), profile.whole_s
        return Remarks(about.title, found.remarks, found.seconds, bytes_accessed, rates, call_s)

    def kernels(self, program: int = 0) -> tuple[MachineKernel, ...] | Unavailable:
        """The kernels of the machine code: instructions, lines, bytes, vector width, spills.

        Compiles nothing. Needs capstone (`pip install jaxscope[asm]`).
        """
        from jaxscope.capture.program.stages import Handles

        source = self._texts[program] if self.programs else None
        if not isinstance(source, Handles):
            return self._no_program() if not self.programs else _NO_KERNELS
        below, known = source.below(), enumerate(self.programs[program].equations)
        if isinstance(below, Unavailable):
            return below
        return below.kernels(
            {i: {f.span.line for f in e.frames if f.source == 0} for i, e in known}
        )
