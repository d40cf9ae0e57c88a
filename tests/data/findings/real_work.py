# A program that computes is not constant-folded.
# silent: constant_folded

# %% setup
import jax.numpy as jnp
x = jnp.arange(6.0)

# %% cell
y = jnp.sin(x).sum()
