"""One rule per file, one folder per language; see CONTRIBUTING.md."""
