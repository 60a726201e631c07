"""ONNX networks: specs, sessions, shipped styles, and the recipes that trained them."""
