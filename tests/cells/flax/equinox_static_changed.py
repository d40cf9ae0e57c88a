# Another static field, another program.
# needs: equinox

# %% setup
import equinox as eqx
import jax
import jax.numpy as jnp
mlp = eqx.nn.MLP(2, 1, 4, 1, activation=jnp.tanh, key=jax.random.key(0))
x = jnp.ones(2)

# %% cell
y = mlp(x)

# %% change
mlp = eqx.nn.MLP(2, 1, 4, 1, activation=jnp.sin, key=jax.random.key(0))
