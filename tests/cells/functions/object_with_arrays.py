# An object of a plain class that holds arrays and is changed between calls.

# %% setup
import jax
import jax.numpy as jnp
import numpy as np
x = jnp.arange(3.0)

# %% cell
class Model:
    def __init__(self): self.w = x + 1; self.b = jnp.zeros(())
    def forward(self, v): return v @ self.w + self.b

def predict(model, v): return model.forward(v)

model = Model()
a = predict(model, x)
model.b = model.b + 1
b = predict(model, x)
model.w = model.w * 2
c = predict(model, x)
del Model, model

# %% change
x = x + 1
