"""The recorder in C++: the same entries as in Python, at a fraction of the cost of a call."""
