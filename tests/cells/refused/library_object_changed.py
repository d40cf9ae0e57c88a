# An object of a library that keeps a traced value gets back what it held.
# expect: refused "keeps a traced value"
# needs: haiku

# %% setup
import jax
import jax.numpy as jnp
import haiku as hk
keys = hk.PRNGSequence(jax.random.key(0))
keys.reserve(2)
x = jnp.arange(3.0)

# %% cell
y = jax.random.normal(next(keys), (3,)) * x
keys.reserve(3)

# %% after
z = jax.random.normal(next(keys), (3,))
n = len(keys._subkeys)
