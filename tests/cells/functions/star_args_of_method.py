# Bound methods with star arguments, and a method stored in a variable.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
class Net:
    def __init__(self, w): self.w = w
    def run(self, *vs, scale=1.0): return sum(vs) * self.w * scale

net = Net(2.0)
run = net.run
rows = [net.run(x), run(x, x), net.run(*[x, x, x], scale=0.5), Net.run(net, x)]
del Net, net, run

# %% change
x = x + 1
