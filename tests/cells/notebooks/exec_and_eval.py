# `exec` and `eval` in the cell see its names and bind in the namespace.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

# %% cell
expression = "x * 2 + k"
k = 3
y = eval(expression)
exec("z = y.sum()\nw = [z] * 2")
scope = {"a": x}
exec("b = a + 1", scope)
c = scope["b"]
del scope
compiled = eval(compile("x.shape", "<s>", "eval"))

# %% change
x = x - 1
