# A function unpacks a parameter of the same name: the cell keeps no reference to the old arrays.
# fires: missed_donation line 10

# %% setup
import jax, jax.numpy as jnp
params = [jnp.ones((600, 600)), jnp.ones((600, 10))]
x = jnp.ones((8, 600))

# %% cell
def forward(params, x):
    *hidden, last = params
    for w in hidden:
        x = jnp.tanh(x @ w)
    return x @ last
def step(params, x):
    grads = jax.grad(lambda p: (forward(p, x) ** 2).mean())(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
params = step(params, x)
