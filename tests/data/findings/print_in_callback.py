# The host function of a callback runs on every call.
# silent: trace_time_side_effect
# fires: callback line 6

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def show(x):
    print("seen", x)

def f(x):
    jax.debug.callback(show, x)
    return x * 2

y = f(x)
