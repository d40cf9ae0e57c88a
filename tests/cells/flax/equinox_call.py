# An Equinox module is a pytree: called, differentiated, passed through.
# needs: equinox
# compiles: 1 0

# %% setup
import equinox as eqx
import jax
import jax.numpy as jnp
layer = eqx.nn.Linear(2, 1, key=jax.random.key(0))
x = jnp.ones(2)

# %% cell
y = layer(x)
grads = eqx.filter_grad(lambda m: m(x).sum())(layer)
same = layer

# %% change
x = x * 2
