# An optimizer made in the cell from a Python number that is static.
# needs: optax

# %% setup
import jax.numpy as jnp
import optax
params, lr = jnp.arange(3.0), 0.5

# %% cell -s lr
opt = optax.sgd(lr)
state = opt.init(params)
updates, state = opt.update(params * 2, state)
params = optax.apply_updates(params, updates)

# %% change
lr = 0.25
