# Operators and methods that change a NumPy argument in place change the caller's array.

# %% setup
import numpy as np
from copy import deepcopy
w, g, buffer = np.ones(3, "f"), np.ones(3, "f"), np.zeros(3, "f")
alias = buffer
layers = [np.ones(2, "f"), np.zeros(2, "f")]
table, order = np.arange(6.0, dtype="f").reshape(2, 3), np.array([3.0, 1.0, 2.0], "f")
def momentum_of_an_earlier_cell(v, g):
    v *= 0.5
    v += g
    return v

# %% cell
def sgd(w, g):
    w -= 0.5 * g

def decay_all(layers):
    for layer in layers:
        layer -= 0.25

def rows(table):
    first = table[0]
    first += 1
    for row in table:
        row *= 2
    return table.sum()

def ordered(v):
    v.sort()
    return v[0]

sgd(w, g)
sgd(w, g)
decay_all(layers)
total = rows(table)
least = ordered(order)
one = momentum_of_an_earlier_cell(buffer, g)
two = momentum_of_an_earlier_cell(buffer, g)

# %% change
g = g + 1

# %% after
seen = alias + one
