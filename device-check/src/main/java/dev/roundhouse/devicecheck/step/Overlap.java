package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.pjrt.PjrtDevice;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Locale;

/**
 * Does an upload go on beside a run? A chain of matrix products, and an upload that takes about as
 * long, each alone and both together.
 */
public final class Overlap implements Step {
  private static final int PRODUCTS = 16;
  private static final int CPU_EXTENT = 512;
  private static final int DEVICE_EXTENT = 4096;
  private static final long SMALLEST = 1 << 20;
  private static final long LARGEST = 256 << 20;
  private static final Duration EACH = Duration.ofSeconds(2);

  @Override
  public String name() {
    return "overlap";
  }

  @Override
  public String about() {
    return "does an upload overlap an execution";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(40);
  }

  @Override
  public void run(CheckContext context, Findings findings) {
    TensorType matrix =
        context.isCpu()
            ? TensorType.of(DType.F32, CPU_EXTENT, CPU_EXTENT)
            : TensorType.of(DType.F32, DEVICE_EXTENT, DEVICE_EXTENT);
    try (PjrtDevice device = context.openDevice();
        Arena arena = Arena.ofShared();
        DeviceProgram program = device.compile(chain(matrix));
        DeviceBuffer argument =
            device.upload(matrix, arena.allocate(matrix.byteSize(), 64), HostMemory.COPY)) {
      DeviceBuffer[] arguments = {argument};
      MemorySegment data = arena.allocate(LARGEST, 4096).fill((byte) 1);
      MemorySegment last = arena.allocate(1);
      Repeated run = Repeated.within(EACH, () -> device.execute(program, arguments).close());
      long bytes = bytesFor(device, run.medianNanos(), data, last);
      MemorySegment part = data.asSlice(0, bytes);
      Repeated upload = Repeated.within(EACH, () -> upload(device, part, last));
      Repeated both =
          Repeated.within(
              EACH,
              () -> {
                try (Execution execution = device.execute(program, arguments)) {
                  upload(device, part, last);
                  execution.await();
                }
              });
      double saved = run.medianNanos() + upload.medianNanos() - both.medianNanos();
      findings.figure(
          "upload beside a run, part of the shorter that is hidden",
          saved / Math.min(run.medianNanos(), upload.medianNanos()),
          "ratio",
          String.format(
              Locale.ROOT,
              "1 is all, 0 is one after the other; run %.2f ms, upload of %d MiB %.2f ms, both %.2f"
                  + " ms",
              run.medianNanos() / 1e6,
              bytes >> 20,
              upload.medianNanos() / 1e6,
              both.medianNanos() / 1e6));
    }
  }

  /** So many that their upload takes about as long as a run. */
  private static long bytesFor(
      PjrtDevice device, double nanos, MemorySegment data, MemorySegment last) {
    long bytes = SMALLEST;
    while (bytes < LARGEST) {
      MemorySegment part = data.asSlice(0, bytes);
      if (Repeated.within(Duration.ofMillis(50), () -> upload(device, part, last)).medianNanos()
          >= nanos) {
        break;
      }
      bytes *= 2;
    }
    return bytes;
  }

  /** Done when a byte of it can be read back. */
  private static void upload(PjrtDevice device, MemorySegment data, MemorySegment last) {
    TensorType type = TensorType.of(DType.U8, data.byteSize());
    try (DeviceBuffer buffer = device.upload(type, data, HostMemory.COPY)) {
      buffer.read(data.byteSize() - 1, last);
    }
  }

  private static ProgramSource chain(TensorType matrix) {
    long extent = matrix.shape().dims()[0];
    String type = "tensor<%dx%dxf32>".formatted(extent, extent);
    StringBuilder code = new StringBuilder();
    code.append("module @chain {\n  func.func public @main(%arg0: ").append(type);
    code.append(") -> ").append(type).append(" {\n");
    String previous = "%arg0";
    for (int i = 0; i < PRODUCTS; i++) {
      String next = "%" + i;
      code.append("    ").append(next).append(" = stablehlo.dot_general ").append(previous);
      code.append(", %arg0, contracting_dims = [1] x [0] : (").append(type).append(", ");
      code.append(type).append(") -> ").append(type).append('\n');
      previous = next;
    }
    code.append("    return ").append(previous).append(" : ").append(type).append("\n  }\n}\n");
    return new ProgramSource("chain", code.toString().getBytes(StandardCharsets.UTF_8));
  }
}
