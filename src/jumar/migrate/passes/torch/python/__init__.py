"""Rules for Python sources and notebook cells."""
