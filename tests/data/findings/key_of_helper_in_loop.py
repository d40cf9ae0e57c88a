# A function that draws is called with one key in a Python loop: the call is the line.
# fires: key_reuse line 7

# %% setup
import jax
key = jax.random.key(0)

# %% cell
def noise(key):
    return jax.random.normal(key, (3,))
def path(key):
    y = 0.0
    for _ in range(3):
        y = y + noise(key)
    return y
y = path(key)
