# A Python loop that draws from one key.
# fires: key_reuse line 4

# %% setup
import jax
key = jax.random.key(0)

# %% cell
y = 0.0
for _ in range(3):
    y = y + jax.random.normal(key, (3,))
