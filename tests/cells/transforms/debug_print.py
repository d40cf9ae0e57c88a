# A debug print prints once for every run of the cell.
# may differ: stdout print-order

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
print("tracing or running")
jax.debug.print("sum {s}", s=x.sum(), ordered=True)
y = x * 2

# %% change
x = x + 1
