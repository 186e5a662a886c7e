"""transformers on NPUs: the Trainer and its optimizers."""
