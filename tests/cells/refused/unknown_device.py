# A device that is not there.
# expect: refused "quantum|device"

# %% setup
import jax.numpy as jnp
x = jnp.ones(3)

# %% cell --device quantum:7
y = x * 2

# %% after
w = x * 2
