# The top level of a decorator-form cell runs as usual, so it may print.
# silent: trace_time_side_effect

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
def f(x):
    return x * 2

print("before")
y = f(x)
print("after", y)
