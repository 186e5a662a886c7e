"""A plan as text, shell script, Dockerfile or JSON; every function takes the plan and returns a string."""
