package dev.roundhouse.devicecheck.step;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.devicecheck.CheckContext;
import dev.roundhouse.devicecheck.Findings;
import dev.roundhouse.devicecheck.Step;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import dev.roundhouse.pjrt.PjrtDevice;
import dev.roundhouse.pjrt.PjrtDeviceOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What running out of memory looks like: the code, the text, and whether the client goes on. On a
 * CPU the process's address space is bounded, so that the machine's memory is not what runs out.
 */
public final class OutOfMemory implements Step {
  private static final long BLOCK = 256L << 20;

  /** Of the CPU check's process, in KiB: what the JVM reserves, and some 2 GiB. */
  private static final long ADDRESS_SPACE_KIB = 5L << 20;

  private static final long CPU_TOO_MUCH = 16L << 30;
  private static final long UNKNOWN_TOO_MUCH = 1L << 40;

  @Override
  public String name() {
    return "out-of-memory";
  }

  @Override
  public String about() {
    return "running out of memory at execute, compile and load: code, text, does the client go on";
  }

  @Override
  public Duration limit() {
    return Duration.ofSeconds(60);
  }

  @Override
  public List<String> prefix(CheckContext context) {
    return context.isCpu()
        ? List.of("sh", "-c", "ulimit -v " + ADDRESS_SPACE_KIB + " && exec \"$@\"", "sh")
        : List.of();
  }

  @Override
  public void run(CheckContext context, Findings findings) {
    PjrtDeviceOptions unlimited = PjrtDeviceOptions.DEFAULTS.withRunBytesLimit(Long.MAX_VALUE);
    try (PjrtDevice device = context.openDevice(unlimited)) {
      if (context.isCpu()) {
        findings.fact(
            "limit", "this process may have " + (ADDRESS_SPACE_KIB >> 10) + " MiB of addresses");
      }
      long tooMuch =
          context.isCpu()
              ? CPU_TOO_MUCH
              : device.memory().limit().orElse(UNKNOWN_TOO_MUCH / 2) / 4 * 5;
      if (context.keepsToItsMemory()) {
        probe(device, findings, "execute", () -> execute(device, tooMuch));
        probe(device, findings, "load", () -> load(device, tooMuch));
      } else {
        findings.notMeasured("execute, load", LyingBudget.NO_LIMIT.formatted(context.allocator()));
      }
    }
    try (PjrtDevice device =
        context.openDevice(PjrtDeviceOptions.DEFAULTS.withRunBytesLimit(BLOCK))) {
      probe(device, findings, "compile, by the run limit", () -> execute(device, 2 * BLOCK));
    }
  }

  private static void probe(PjrtDevice device, Findings findings, String what, Runnable task) {
    DeviceException refusal = refusal(task);
    if (refusal == null) {
      findings.fail(what, "nothing was refused");
    } else {
      findings.check(
          what,
          refusal.code() == DeviceException.Code.OUT_OF_MEMORY,
          "code " + refusal.code() + ": " + refusal.getMessage());
    }
    DeviceException afterwards = refusal(() -> useALittle(device));
    findings.check(
        what + ", the client afterwards",
        afterwards == null,
        afterwards == null ? "goes on" : afterwards.code() + ": " + afterwards.getMessage());
  }

  private static @Nullable DeviceException refusal(Runnable task) {
    try {
      task.run();
      return null;
    } catch (DeviceException refused) {
      return refused;
    }
  }

  private static void execute(PjrtDevice device, long bytes) {
    try (Arena arena = Arena.ofConfined();
        DeviceProgram program = device.compile(fill(bytes));
        DeviceBuffer x =
            device.upload(TensorType.of(DType.F32), arena.allocate(4, 64), HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {x})) {
      execution.await();
    }
  }

  /** Blocks until one is refused. */
  private static void load(PjrtDevice device, long bytes) {
    List<DeviceBuffer> blocks = new ArrayList<>();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment data = arena.allocate(BLOCK, 4096);
      MemorySegment last = arena.allocate(1);
      TensorType type = TensorType.of(DType.U8, BLOCK);
      for (long held = 0; held < bytes; held += BLOCK) {
        DeviceBuffer block = device.upload(type, data, HostMemory.COPY);
        blocks.add(block);
        block.read(BLOCK - 1, last);
      }
    } finally {
      blocks.forEach(DeviceBuffer::close);
    }
  }

  private static void useALittle(PjrtDevice device) {
    try (Arena arena = Arena.ofConfined();
        DeviceProgram program = device.compile(fill(64));
        DeviceBuffer x =
            device.upload(
                TensorType.of(DType.F32),
                arena.allocateFrom(ValueLayout.JAVA_FLOAT, 7f),
                HostMemory.COPY);
        Execution execution = device.execute(program, new DeviceBuffer[] {x})) {
      MemorySegment answer = arena.allocate(64, 64);
      execution.output(0).read(0, answer);
      if (answer.getAtIndex(ValueLayout.JAVA_FLOAT, 15) != 7f) {
        throw new IllegalStateException("a run after running out of memory computed nonsense");
      }
    }
  }

  private static ProgramSource fill(long bytes) {
    String code =
        """
        module @fill {
          func.func public @main(%%arg0: tensor<f32>) -> tensor<%1$dxf32> {
            %%0 = stablehlo.broadcast_in_dim %%arg0, dims = [] : (tensor<f32>) -> tensor<%1$dxf32>
            return %%0 : tensor<%1$dxf32>
          }
        }
        """
            .formatted(bytes / Float.BYTES);
    return new ProgramSource("fill", code.getBytes(StandardCharsets.UTF_8));
  }
}
