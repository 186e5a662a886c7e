"""Rules of `--multi-card`: together they turn a one-card training script into one for many cards."""
