# The layers of a module that is initialized outside of any jit: the call is compiled, not a layer.
# needs: flax
# fires: eager line 9

# %% setup
import jax, jax.numpy as jnp
import flax.linen as nn

# %% cell
class Net(nn.Module):
    features: tuple = (3, 4, 5)

    @nn.compact
    def __call__(self, x):
        x = x * 2
        for width in self.features:
            x = nn.relu(nn.Dense(width)(x))
        return x


net = Net()
weights = net.init(jax.random.key(0), jnp.ones((1, 7)))
