# A jitted function that prints does so while it is traced.
# fires: trace_time_side_effect line 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    print("computing f")
    return x * 2

y = f(x)
z = f(x)
