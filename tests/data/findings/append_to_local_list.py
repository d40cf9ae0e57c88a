# A list of the function's own is how sequences are built.
# silent: trace_time_side_effect

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    parts = []
    for k in range(3):
        parts.append(x * k)
    return jnp.stack(parts)

y = f(x)
