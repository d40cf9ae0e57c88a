"""What a front end is given: payload, page and MIME bundle."""
