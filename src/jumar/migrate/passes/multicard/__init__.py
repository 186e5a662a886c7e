"""From one card to many: what a training script is made of, and the code that makes it a distributed one."""
