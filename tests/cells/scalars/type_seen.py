# A cell that asks for the type of a traced value sees a tracer; that is documented.
# differs: is_float traced-type-seen
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)
lr = 0.5

# %% cell
is_float = isinstance(lr, float)
is_array = isinstance(x, jax.Array)
y = x * lr

# %% change
x = x + 1
