# Keys that are split, carried and folded.
# silent: key_reuse

# %% setup
import jax, jax.numpy as jnp
key = jax.random.key(0)

# %% cell
def draw(key):
    one, two, three, four = jax.random.split(key, 4)
    a = jax.random.normal(one, (3,)) + jax.random.gamma(two, 2.0, (3,))
    def walk(key, i):
        key, now = jax.random.split(key)
        return key, jax.random.normal(now) + jax.random.normal(jax.random.fold_in(three, i))
    return a + jax.lax.scan(walk, four, jnp.arange(3))[1]

y = draw(key)
