"""Plans that are measured in a moment: a clock that runs fast, and a machine at rest."""

import time

import numpy as np

from jaxscope.bench import Entry, Limits, Plan
from jaxscope.bench.measure import compare
from jaxscope.bench.rounds.machine import MachineCounters, Signals
from jaxscope.model.comparison import Machine

FEW = Limits(min_rounds=8, max_rounds=8, seconds=1000, call_s=60)


class FastSignals(Signals):
    """A clock that goes 40 times as fast, so that the warm-up takes a few milliseconds."""

    def __init__(self, machine=None, preempted=()):
        self._machine = machine or Machine(cores=2, load=0.0, pressure=0.0, steal=0.0)
        self._preempted = iter(preempted)

    @staticmethod
    def now():
        return 40 * time.perf_counter()

    def preemptions(self):
        return next(self._preempted, 0)

    def read(self):
        return MachineCounters(self.now())

    def machine(self, began, ended, gpu=False):
        return self._machine


def normal(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def plan(*entries, inputs=None, **settings):
    """Entries are `(label, implementation, function)`, with options as a fourth item if any."""
    made = {"x": normal(100)} if inputs is None else inputs
    settings.setdefault("limits", FEW)
    settings.setdefault("columns", False)
    return Plan(
        tuple(
            Entry(label, implementation, function, options=rest[0] if rest else {})
            for label, implementation, function, *rest in entries
        ),
        lambda size: made,
        **settings,
    )


def measured(*entries, machine=None, preempted=(), **settings):
    return compare(plan(*entries, **settings), FastSignals(machine, preempted))


def row(record, label):
    (found,) = [row for row in record.rows if row.label == label]
    return found


def codes(found):
    return {warning.code for warning in found.warnings}
