# An optimizer made in the cell from a Python number, which it keeps in its closures.
# expect: refused "`opt` would keep .*-s lr"
# line: 2
# needs: optax

# %% setup
import jax.numpy as jnp
import optax
params, lr = jnp.arange(3.0), 0.5

# %% cell
opt = optax.sgd(lr)
state = opt.init(params)
updates, state = opt.update(params * 2, state)
params = optax.apply_updates(params, updates)

# %% after
w = params + 1
