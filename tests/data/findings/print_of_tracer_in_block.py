# A block that prints an array shows a tracer.
# fires: trace_time_side_effect line 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y = jnp.sin(x)
print("y is", y)
z = y + 1
