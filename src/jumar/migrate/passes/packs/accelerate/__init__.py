"""accelerate on NPUs."""
