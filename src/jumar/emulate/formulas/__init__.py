"""What operators compute, written once: a family per file, over arrays of numpy or torch.

A formula takes arrays in the precision it computes in, and numbers; it knows no schema, no data type codes and no
refusals. Bindings (`torch_ops`, `mindspore_ops`) bring those. Interpreters without Jumar load this package by its path,
beside `mindspore_ops`: Python 3.7, and only what `namespace` hands out.
"""
