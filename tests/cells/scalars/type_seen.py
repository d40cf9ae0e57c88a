# A cell that asks for the type of a traced array sees a tracer; that is documented.
# differs: kind traced-type-seen
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
kind = type(x).__name__
is_array = isinstance(x, jax.Array)
y = x * 2

# %% change
x = x + 1
