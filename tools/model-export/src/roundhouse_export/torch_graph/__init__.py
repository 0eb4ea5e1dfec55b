"""PyTorch modules as functions of JAX: by ``torch.export`` and torchax, or through ONNX."""
