# jax.debug.print is the right way: no side effect of tracing, but a callback.
# silent: trace_time_side_effect
# fires: callback line 3

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    jax.debug.print("x = {x}", x=x)
    return x * 2

y = f(x)
