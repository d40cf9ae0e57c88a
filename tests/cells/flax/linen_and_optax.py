# A linen model, its parameters and an Optax state, carried by name.
# needs: flax optax
# compiles: 1 0

# %% setup
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
model = nn.Dense(1)
x, t = jnp.arange(6.0).reshape(3, 2), jnp.ones((3, 1))
params = model.init(jax.random.key(0), x)
tx = optax.adam(0.1)
opt_state = tx.init(params)

# %% cell
loss, grads = jax.value_and_grad(lambda p: ((model.apply(p, x) - t) ** 2).mean())(params)
updates, opt_state = tx.update(grads, opt_state, params)
params = optax.apply_updates(params, updates)
loss

# %% change
x = x + 1
