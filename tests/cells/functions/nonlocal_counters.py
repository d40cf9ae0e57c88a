# A closure that assigns its own variable gets the next value at each call, also through a helper.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)
def make_decay(rate):
    def decay():
        nonlocal rate
        rate *= 0.5
        return rate
    return decay

# %% cell
def make_counter():
    n = 0
    def count(v):
        nonlocal n
        n += 1
        return v * n
    return count

def make_mean():
    total, count = 0.0, 0
    def mean(v):
        nonlocal total, count
        total = total + v.mean()
        count += 1
        return total / count
    return mean

count = make_counter()
first, second, third = count(x), count(x), count(x)
mean = make_mean()
means = [mean(x * i) for i in range(4)]
decay = make_decay(1.0)

def step(w):
    return w - decay() * w

a = step(x)
b = step(a)

# %% change
x = x + 1

# %% after
fourth = count(x)
