"""ONNX networks: specs, sessions, shipped styles, and the recipes that trained them."""

import os

# From 1.32 on, ONNX Runtime reports its use to its makers unless told not to before it starts.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
