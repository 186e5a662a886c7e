"""From findings to a plan for the person who decides: causes, areas, order, effort, and what is known already."""
