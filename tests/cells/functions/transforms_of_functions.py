# Transforms of a function: grad, value_and_grad, vmap, jacobians, checkpoint.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
def loss(w, v): return ((w * v) ** 2).sum()

g = jax.grad(loss)(x, x)
v, h = jax.value_and_grad(loss, argnums=1)(x, x)
rows = jax.vmap(loss, in_axes=(None, 0))(x, jnp.stack([x, x + 1]))
j = jax.jacfwd(jax.grad(loss))(x, x)
c = jax.checkpoint(loss)(x, x)
p, tangent = jax.jvp(loss, (x, x), (x, x))
several = [jax.grad(loss)(x * i, x) for i in range(3)]

# %% change
x = x + 1
