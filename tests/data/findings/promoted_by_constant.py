# A constant of JAX does, too.
# fires: type_promotion line 4

# %% setup
import jax, jax.numpy as jnp
h, w = jnp.ones((128, 128), jnp.bfloat16), jnp.ones((128, 128), jnp.bfloat16)

# %% cell --decorate
@jax.jit
def attend(h, w):
    return (h / jnp.sqrt(jnp.float32(128))) @ w

y = attend(h, w)
