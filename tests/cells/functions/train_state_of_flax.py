# flax.training's TrainState.
# needs: flax optax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import flax.linen as nn
import optax
from flax.training import train_state
data = jnp.stack([x, x + 1])

# %% cell
model = nn.Dense(2)
state = train_state.TrainState.create(
    apply_fn=model.apply, params=model.init(jax.random.key(0), data)["params"], tx=optax.adam(1e-2)
)

def train_step(state, v):
    def loss_fn(params): return (state.apply_fn({"params": params}, v) ** 2).mean()
    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    return state.apply_gradients(grads=grads), loss

losses = []
for _ in range(3):
    state, loss = train_step(state, data)
    losses.append(round(float(loss), 4))
kernel, step = state.params["kernel"], int(state.step)
del model, state

# %% change
data = data * 2
