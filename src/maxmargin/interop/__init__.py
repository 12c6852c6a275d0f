"""Other programs' models: LIBLINEAR and ONNX."""
