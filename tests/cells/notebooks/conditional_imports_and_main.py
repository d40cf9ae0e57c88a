# `__name__`, `__file__`, optional imports and version checks at the top of a cell.

# %% setup
import jax.numpy as jnp
x = jnp.ones(2)

# %% cell
try:
    import not_there_at_all as fast
    has_fast = True
except ImportError:
    fast, has_fast = None, False
if __name__ == "__main__":
    y = x + 1
import jax
modern = tuple(map(int, jax.__version__.split(".")[:2])) >= (0, 4)
where = "__file__" in globals()
