"""A cell or a call as one function to trace."""
