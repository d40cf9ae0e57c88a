# The gradient of a logarithm, through a factor.
# fires: nan_gradient line 5

# %% setup
import jax, jax.numpy as jnp
x = jnp.arange(8.0)

# %% cell --decorate
@jax.jit
@jax.value_and_grad
def entropy(x):
    return jnp.sum(jnp.where(x <= 0, 0.0, -2.0 * jnp.log(x)))

y = entropy(x)
