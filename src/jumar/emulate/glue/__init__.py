"""The dispatcher glue: C++ built once per torch version, and the Python that builds and loads it."""
