# An attribute of an outer object.
# fires: trace_time_side_effect line 4

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

class Model:
    calls = 0

model = Model()

# %% cell --decorate
@jax.jit
def f(x):
    model.calls += 1
    return x * 2

y = f(x)
