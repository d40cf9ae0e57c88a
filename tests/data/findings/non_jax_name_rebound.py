# The name held a foreign array, and holds a JAX array where the function reads it.
# silent: non_jax_constant
# needs: torch

# %% setup
import torch, jax, jax.numpy as jnp
x = jnp.arange(8.0)
Wt = torch.ones(8, 8)

# %% cell
Wt = jnp.ones((8, 8)) * x
project = lambda v: Wt @ v
y = jax.vmap(project)(jnp.stack([x, x]))
