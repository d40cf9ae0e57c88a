# A cell without arrays runs as plain Python.

# %% setup
n = 3
words = ["a", "b"]

# %% cell
m = n * 2
joined = "-".join(words)
n += 1
m
