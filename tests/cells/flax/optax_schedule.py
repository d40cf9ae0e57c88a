# A schedule in the optimizer state; an optimizer that is replaced between the runs.
# needs: optax

# %% setup
import jax
import jax.numpy as jnp
import optax
tx = optax.sgd(optax.linear_schedule(0.1, 0.0, 10))
params = {"w": jnp.ones(3)}
state = tx.init(params)

# %% cell
updates, state = tx.update(jax.tree.map(jnp.ones_like, params), state, params)
params = optax.apply_updates(params, updates)

# %% change
tx = optax.sgd(optax.linear_schedule(1.0, 0.0, 10))
