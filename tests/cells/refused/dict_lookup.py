# A traced float as the key of a dictionary.
# expect: refused "unhashable"
# line: 2

# %% setup
rates = {0.5: "half"}
lr = 0.5

# %% cell
name = rates[lr]

# %% after
z = rates[lr]
