# Two jitted methods of one name: which of them the program is, is not known.
# silent: trace_time_side_effect

# %% setup
import jax
from functools import partial

# %% cell
class First:
    calls = 0

    @partial(jax.jit, static_argnums=0)
    def count(self):
        self.calls += 1
        return self.calls

class Second:
    @partial(jax.jit, static_argnums=0)
    def count(self):
        return 2

total = Second().count()
