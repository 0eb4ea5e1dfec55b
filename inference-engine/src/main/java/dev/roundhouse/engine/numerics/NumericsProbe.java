package dev.roundhouse.engine.numerics;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;

/**
 * Sees how a device really multiplies: a matrix of sentinels 1 + k * 2^-20 by the identity. f32
 * holds each of them and gives them back bit by bit; TF32 has 10 bits behind the point and none of
 * them survives. Takes 3 MiB of the device and one small compile; the sentinels are those of
 * ReactantServer.jl.
 */
final class NumericsProbe {
  static final String NAME = "numerics-probe";
  static final int SIDE = 512;

  private static final TensorType MATRIX = TensorType.of(DType.F32, SIDE, SIDE);

  /** The mantissa bits that TF32 drops of f32's 23. */
  private static final int DROPPED_BITS = 13;

  private static final String PROGRAM =
      """
      module @numerics_probe {
        func.func public @main(%sentinels: tensor<512x512xf32>, %identity: tensor<512x512xf32>) -> tensor<512x512xf32> {
          %product = stablehlo.dot_general %sentinels, %identity, contracting_dims = [1] x [0] : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
          return %product : tensor<512x512xf32>
        }
      }
      """;

  private NumericsProbe() {}

  /** What came back. */
  enum Finding {
    /** Every bit. */
    EXACT,
    /** Every sentinel as TF32 holds it. */
    TF32,
    /** Something else: another format, or a wrong answer. */
    OTHER
  }

  /**
   * Runs the probe.
   *
   * @param device called by this thread alone for as long as it takes
   * @throws dev.roundhouse.engine.device.DeviceException when the device fails
   */
  static Finding run(Device device) {
    byte[] code = PROGRAM.getBytes(StandardCharsets.UTF_8);
    try (Arena arena = Arena.ofShared();
        DeviceProgram program = device.compile(new ProgramSource(NAME, code))) {
      MemorySegment sentinels = arena.allocate(MATRIX.byteSize(), 64);
      MemorySegment identity = arena.allocate(MATRIX.byteSize(), 64);
      for (int i = 0; i < SIDE * SIDE; i++) {
        sentinels.setAtIndex(ValueLayout.JAVA_FLOAT, i, sentinel(i));
        identity.setAtIndex(ValueLayout.JAVA_FLOAT, i, i / SIDE == i % SIDE ? 1 : 0);
      }
      MemorySegment product = arena.allocate(MATRIX.byteSize(), 64);
      try (DeviceBuffer left = device.upload(MATRIX, sentinels, HostMemory.COPY);
          DeviceBuffer right = device.upload(MATRIX, identity, HostMemory.COPY);
          Execution execution = device.execute(program, new DeviceBuffer[] {left, right})) {
        execution.await();
        execution.output(0).read(0, product);
      }
      return finding(product);
    }
  }

  /** 1 + k * 2^-20 with k from 1 to 1023: less than TF32's step of 2^-10, and never nothing. */
  static float sentinel(int index) {
    return 1 + (1 + index % 1023) * 0x1p-20f;
  }

  private static Finding finding(MemorySegment product) {
    boolean exact = true;
    boolean tf32 = true;
    for (int i = 0; i < SIDE * SIDE && (exact || tf32); i++) {
      float found = product.getAtIndex(ValueLayout.JAVA_FLOAT, i);
      float sentinel = sentinel(i);
      exact &= Float.floatToRawIntBits(found) == Float.floatToRawIntBits(sentinel);
      // Devices round to the nearest or cut off; both leave one of two neighbours.
      float below = tf32Below(sentinel);
      tf32 &= found == below || found == below + 0x1p-10f;
    }
    return exact ? Finding.EXACT : tf32 ? Finding.TF32 : Finding.OTHER;
  }

  private static float tf32Below(float value) {
    return Float.intBitsToFloat(Float.floatToRawIntBits(value) >>> DROPPED_BITS << DROPPED_BITS);
  }
}
