# Numbers of an Equinox module are static, as under filter_jit: attention asks whether its dropout is 0.
# needs: equinox
# compiles: 1 0

# %% setup
import equinox as eqx
import jax
import jax.numpy as jnp

attention = eqx.nn.MultiheadAttention(2, 4, key=jax.random.key(0))
x = jnp.ones((3, 4))

# %% cell
y = attention(x, x, x)

# %% change
x = x * 2

# %% after
rate = attention.dropout.p
