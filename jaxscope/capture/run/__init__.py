"""A whole run, from the user's code to results and a record."""
