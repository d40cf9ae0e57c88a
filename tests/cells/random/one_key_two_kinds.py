# The same name holds a typed key first and an old one later.
# compiles: 1 1

# %% setup
import jax
key = jax.random.key(0)

# %% cell
noise = jax.random.normal(key, (3,))

# %% change
key = jax.random.PRNGKey(0)
