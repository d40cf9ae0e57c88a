# A print behind a condition that does not hold prints nothing.
# silent: trace_time_side_effect

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
verbose = False

# %% cell
def f(x):
    if verbose:
        print("f of", x)
    return x * 2

y = f(x)
