"""Rules for CUDA and C++ sources: they are listed, never edited."""
