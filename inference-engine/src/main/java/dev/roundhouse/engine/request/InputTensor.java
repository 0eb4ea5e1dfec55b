package dev.roundhouse.engine.request;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;

/** A named input as the caller sent it; shape includes the batch axis. Checked at admission. */
public record InputTensor(String name, DType dtype, Shape shape, TensorData data) {}
