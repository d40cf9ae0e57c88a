# The same for the parameters of a jitted step.
# fires: missed_donation line 5

# %% setup
import jax, jax.numpy as jnp
params = {"w": jnp.ones((600, 600)), "b": jnp.ones(600)}

# %% cell
def step(params, lr):
    return {k: v - lr * v for k, v in params.items()}

params = step(params, 0.1)
