# Flax linen: init, a few training steps, evaluation.
# needs: flax optax

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)
import flax.linen as nn
import optax
data, labels = jnp.ones((4, 3)) * x, jnp.array([0, 1, 0, 1])

# %% cell
class MLP(nn.Module):
    width: int = 8

    @nn.compact
    def __call__(self, v):
        v = nn.relu(nn.Dense(self.width)(v))
        return nn.Dense(2)(v)

model = MLP()
params = model.init(jax.random.key(0), data)
tx = optax.sgd(0.1)
state = tx.init(params)

def loss_fn(params, v, t):
    logits = model.apply(params, v)
    return optax.softmax_cross_entropy_with_integer_labels(logits, t).mean()

def train_step(params, state, v, t):
    loss, grads = jax.value_and_grad(loss_fn)(params, v, t)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state, loss

def accuracy(params, v, t): return (model.apply(params, v).argmax(-1) == t).mean()

losses = []
for _ in range(3):
    params, state, loss = train_step(params, state, data, labels)
    losses.append(round(float(loss), 4))
score = float(accuracy(params, data, labels))
del MLP, model, tx

# %% change
data = data * 0.5
