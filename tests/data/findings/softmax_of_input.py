# Both exponentials are written out.
# fires: exp_overflow line 3

# %% setup
import jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell
def softmax(x):
    return jnp.exp(x) / jnp.sum(jnp.exp(x))

p = softmax(x)
