# Swaps, chains, starred targets, targets that are slots of new containers.

# %% setup
import jax.numpy as jnp
a, b, c = jnp.ones(2), jnp.zeros(2), 3

# %% cell
a, b = b, a
box = [None] * 3
box[0], box[-1] = a, b
(p, (q, *rest)), r = (a, (b, 1, 2)), c
u = v = w = [a]
w.append(b)
head, *tail = "abc"
i = box[i0 := 0] = q + 1

# %% change
c = "text"
