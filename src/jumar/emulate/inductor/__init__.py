"""torch.compile with inductor on emulated cards: C++ kernels over the card's memory, in the order of its streams."""
