GRAPH_MODE = 0
said = {}


class ParallelMode:
    DATA_PARALLEL = "data_parallel"


def set_context(**given):
    said.update(given)


def set_auto_parallel_context(**given):
    said.update(given)
