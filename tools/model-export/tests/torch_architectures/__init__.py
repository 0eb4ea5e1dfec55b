"""A hundred architectures of PyTorch, each converted and compared with PyTorch itself.

``python -m torch_architectures`` from ``tests``, or ``./roundhouse test --torch``.
"""
