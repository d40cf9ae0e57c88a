# The old kind of key is used after its split.
# fires: key_reuse line 5

# %% setup
import jax
key = jax.random.PRNGKey(0)

# %% cell --decorate
@jax.jit
def f(key):
    one, two = jax.random.split(key)
    return jax.random.normal(key, (3,)) + jax.random.normal(one, (3,))

y = f(key)
