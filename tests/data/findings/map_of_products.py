# A `lax.map` of products of one vector.
# fires: sequential_map line 2

# %% setup
import jax, jax.numpy as jnp
w, xs = jnp.ones((64, 64)), jnp.ones((300, 64))

# %% cell
y = jax.lax.map(lambda x: jnp.tanh(w @ x), xs)
