"""What is decided together: a guard and what it guards, a case for CUDA and the case for NPUs beside it."""
