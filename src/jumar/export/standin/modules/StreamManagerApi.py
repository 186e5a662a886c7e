"""The stand-in of the vision SDK's stream manager; importable where no real one is installed."""

from jumar.export.standin.stream.manager import StreamManagerApi
from jumar.export.standin.stream.values import MxDataInput, MxDataOutput, MxProtobufIn, MxProtobufOut, RoiBox, Vector

StringVector = InProtobufVector = OutProtobufVector = RoiBoxVector = Vector

__all__ = [
    "InProtobufVector", "MxDataInput", "MxDataOutput", "MxProtobufIn", "MxProtobufOut", "OutProtobufVector", "RoiBox",
    "RoiBoxVector", "StreamManagerApi", "StringVector",
]  # fmt: skip
