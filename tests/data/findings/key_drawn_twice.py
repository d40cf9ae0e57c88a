# Two draws from one key.
# fires: key_reuse line 3

# %% setup
import jax
key = jax.random.key(0)

# %% cell
a = jax.random.normal(key, (3,))
b = jax.random.uniform(key, (3,))
