# One call per row, collected in a list.
# fires: sequential_map line 8

# %% setup
import jax, jax.numpy as jnp
w, xs = jnp.ones((64, 64)), jnp.ones((300, 64))

# %% cell
@jax.jit
def layer(x, w):
    return jnp.tanh(x @ w)

ys = []
for x in xs:
    ys.append(layer(x, w))
