# A jitted method that returns only its counter has no equation, and counts traces.
# fires: trace_time_side_effect line 7

# %% setup
import jax
from functools import partial

# %% cell
class Counter:
    calls = 0

    @partial(jax.jit, static_argnums=0)
    def count(self):
        self.calls += 1
        return self.calls

counter = Counter()
counts = counter.count(), counter.count()
