# A counter in a jitted function counts traces, not calls.
# fires: trace_time_side_effect line 5

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell --decorate
calls = 0
def f(x):
    global calls
    calls += 1
    return x * 2

y = f(x)
z = f(x)
