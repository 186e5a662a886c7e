"""Offline inference: checks an ONNX model against ATC, writes the command, runs a stand-in of the result."""
