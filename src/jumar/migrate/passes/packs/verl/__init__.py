"""verl on NPUs."""
