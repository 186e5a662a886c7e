"""A training script for ModelArts: where its paths come from, and the code that makes them local."""
