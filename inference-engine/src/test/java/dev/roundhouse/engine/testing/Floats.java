package dev.roundhouse.engine.testing;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/** f32 tensors to and from Java arrays. */
public final class Floats {
  private Floats() {}

  public static InputTensor input(String name, long[] shape, float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
    for (float value : values) {
      bytes.putFloat(value);
    }
    return new InputTensor(name, DType.F32, Shape.of(shape), TensorData.of(bytes.array()));
  }

  public static float[] of(OutputTensor output) {
    float[] values = new float[(int) (output.data().byteSize() / 4)];
    for (int i = 0; i < values.length; i++) {
      values[i] = output.data().getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
    }
    return values;
  }
}
