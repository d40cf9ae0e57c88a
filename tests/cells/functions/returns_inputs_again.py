# Calls of one program return the containers of their own arguments, each the object that was passed.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
log, other, state = [x], [x + 1], {"n": 1, "h": x}
kept = [x * 3]

# %% cell
def doubled(rows):
    return [row * 2 for row in rows], rows


def stepped(state, v):
    return state, state["h"] + v


def with_global(v):
    return kept, v * 2


def paired(v):
    new = [v * 2]
    return new, new


def compared(a, b):
    return a[0] + b[0], a is b


same = []
for rows in (log, log, other):
    new, back = doubled(rows)
    same.append(back is rows)
for _ in range(2):
    now, y = stepped(state, x)
    one, two = paired(x)
    same += [now is state, with_global(x)[0] is kept, one is two]
pairs = [compared(log, [x])[1], compared(log, log)[1]]
back.append(x)

# %% change
x = x + 1
