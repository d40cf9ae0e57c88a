# A warning of traced code.
# fires: trace_time_side_effect line 6

# %% setup
import jax, jax.numpy as jnp, warnings
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
def f(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("slow")
    return x * 2

y = f(x)
