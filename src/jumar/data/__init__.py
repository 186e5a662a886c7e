"""Facts: `.toml` kept by hand, `.json` written by `tools/refresh_*.py`; each file names its source and date."""
