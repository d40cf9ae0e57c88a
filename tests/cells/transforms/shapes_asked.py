# eval_shape and static questions about arrays.
# compiles: 1 0

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(6.0).reshape(2, 3)

# %% cell
out = jax.eval_shape(lambda v: v.T @ v, x)
shape, kind = out.shape, out.dtype
y = jnp.zeros(shape, kind) + x.sum()
del out

# %% change
x = x + 1
