"""The user's files and cells, and frames in them."""
