# A cached property that the cell would compute first: it is read once in an earlier cell.
# expect: refused "`thing.twice` is a cached property: read it once in an earlier cell"

# %% setup
import functools
import jax.numpy as jnp
class Thing:
    def __init__(self, a): self.a = a
    @functools.cached_property
    def twice(self): return self.a * 2

thing = Thing(jnp.arange(3.0))

# %% cell
y = thing.twice + 1

# %% after
thing.twice
get_ipython().run_cell_magic("jaxjit", "-q -n 1", "y = thing.twice + 1")
