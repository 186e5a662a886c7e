"""diffusers on NPUs."""
