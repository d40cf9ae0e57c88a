# A TrainState is a registered dataclass with static functions in it.
# needs: flax optax
# compiles: 1 0

# %% setup
import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState
model = nn.Dense(1)
x = jnp.ones((2, 2))
state = TrainState.create(
    apply_fn=model.apply, params=model.init(jax.random.key(0), x)["params"], tx=optax.sgd(0.1))
state = state.replace(step=jnp.asarray(0))

# %% cell
grads = jax.grad(lambda p: (state.apply_fn({"params": p}, x) ** 2).mean())(state.params)
state = state.apply_gradients(grads=grads)
