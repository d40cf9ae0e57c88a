# A class between two others gets an attribute that hides the one of its base.

# %% setup
import jax.numpy as jnp
x = jnp.arange(3.0)

class Base:
    rate = 1.0

class Middle(Base):
    pass

class Model(Middle):
    pass

model = Model()

# %% cell
def scaled(v):
    return v * model.rate

a = scaled(x)
Middle.rate = 3.0
b = scaled(x)
del Middle.rate
c = scaled(x)
