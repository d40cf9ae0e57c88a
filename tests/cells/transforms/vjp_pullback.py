# A pullback made by the cell holds traced residuals.
# expect: same or refused "trac"

# %% setup
import jax
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
y, pull = jax.vjp(jnp.sin, x)
(g,) = pull(jnp.ones(3))
del pull

# %% change
x = x + 1
