# A print under a condition that held during tracing is recorded.
# fires: trace_time_side_effect line 4

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
def f(x, verbose=True):
    if verbose:
        print("f of", x)
    return x * 2

y = f(x)
