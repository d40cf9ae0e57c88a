# A helper of the cell that prints its argument shows a tracer, at the line of the call.
# fires: trace_time_side_effect line 2

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
def helper(a):
    print(a)
    return a * 2

# %% cell
y = helper(x)
