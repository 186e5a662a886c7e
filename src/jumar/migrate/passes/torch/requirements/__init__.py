"""Rules for requirements, wherever they stand: requirement files, project files, environments, `pip install`."""
