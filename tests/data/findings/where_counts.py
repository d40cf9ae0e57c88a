# Normalized data: JAX divides by a count that it computes, behind a `where`.
# silent: nan_gradient

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(12.0).reshape(3, 4)

# %% cell
a = jax.grad(lambda x: (x / (x.std(0) + 1e-3)).sum())(x)
b = jax.grad(lambda x: ((x - x.mean(0)) / jnp.sqrt(x.var(0, ddof=1) + 1e-3)).sum())(x)
mask = jnp.arange(4.0) > 1
c = jax.grad(lambda x: jnp.var(x, axis=1, where=mask).sum())(x)
