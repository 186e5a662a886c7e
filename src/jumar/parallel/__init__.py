"""Which data, tensor, pipeline, optimizer-shard and recompute plan fits on these cards, and which is fastest."""
