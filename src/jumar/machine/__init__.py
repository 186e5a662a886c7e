"""The machine and its messages: what is installed, what fits together, what an error means."""
