# A pullback kept for the next cell.
# expect: same or refused "trac"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y, pull = jax.vjp(jnp.sin, x)

# %% change
x = x + 1

# %% after
g = pull(jnp.ones(3)) if "pull" in globals() else None
