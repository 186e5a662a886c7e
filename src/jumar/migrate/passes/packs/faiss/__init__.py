"""faiss on NPUs: the CPU build."""
