# A scan that carries nothing.
# fires: sequential_map line 4

# %% setup
import jax, jax.numpy as jnp
w, xs = jnp.ones((64, 64)), jnp.ones((300, 64))

# %% cell
def network(w, xs):
    def layer(_, x):
        return None, x @ w
    return jax.lax.scan(layer, None, xs)[1]

y = network(w, xs)
