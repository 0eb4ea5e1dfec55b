"""Graphs of ONNX as functions of JAX: operators, and what walks a graph with them."""
