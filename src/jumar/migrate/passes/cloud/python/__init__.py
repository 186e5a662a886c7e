"""Rules of `jumar cloud adapt`: they work on Python files and never run in a plain migration."""
