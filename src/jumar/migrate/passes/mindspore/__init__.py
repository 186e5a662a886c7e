"""What the rules for old MindSpore code share."""
