"""The virtual Ascend machine: the published torch_npu wheel on stand-ins for CANN's libraries."""
