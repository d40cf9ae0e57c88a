"""State of one shell: reports, cell history, connections to the front end."""
