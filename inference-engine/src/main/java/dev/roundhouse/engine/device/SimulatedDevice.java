package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.artifact.Artifact;
import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;

/**
 * An accelerator made of arithmetic: it has a memory limit, a link of a given rate, an execution
 * time per program, and a clock, which may stand still until a test moves it. Programs are real
 * StableHLO text, of which only {@code @main}'s signature is read; what they compute is a {@link
 * ReferenceFunction} found by the program's name, so results can be checked.
 *
 * <p>Uploads occupy the link one after the other, executions the device; both take simulated time
 * only. Thread-safe as {@link Device} asks.
 */
public final class SimulatedDevice implements Device {
  private final SimulatedDeviceOptions options;
  private final NanoClock clock;
  private final AtomicLong bytesInUse = new AtomicLong();
  private final AtomicLong peakBytes = new AtomicLong();
  private final AtomicLong linkFreeAt = new AtomicLong(Long.MIN_VALUE);
  private final Map<Object, String> openHandles = new ConcurrentHashMap<>();
  private final AtomicLong executions = new AtomicLong();
  private long deviceFreeAt = Long.MIN_VALUE;
  private volatile boolean closed;

  public SimulatedDevice(SimulatedDeviceOptions options, NanoClock clock) {
    this.options = options;
    this.clock = clock;
  }

  @Override
  public DeviceDescription description() {
    return new DeviceDescription(
        "simulated",
        "Roundhouse simulated device",
        0,
        true,
        Map.of(
            "memory_bytes", Long.toString(options.memoryBytes()),
            "link_bytes_per_second", Long.toString(options.linkBytesPerSecond())));
  }

  @Override
  public DeviceProgram compile(ProgramSource source) {
    checkOpen();
    ArtifactSignature signature = signature(source);
    ReferenceFunction function = options.functions().apply(source.name());
    SimulatedProgram program =
        new SimulatedProgram(
            source.name(), signature.parameters(), signature.results(), function, this);
    openHandles.put(program, "program '" + source.name() + "'");
    return program;
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    checkOpen();
    checkSize(type, data);
    long now = clock.nanoTime();
    long transfer = options.transferNanos(type.byteSize());
    long arrived = linkFreeAt.updateAndGet(free -> Math.addExact(Math.max(free, now), transfer));
    // Aliased memory is read when a program runs; copied memory is what it was at this moment.
    MemorySegment held = use == HostMemory.ALIAS ? data : MemorySegment.ofArray(copyOf(data));
    return newBuffer(type, held, arrived);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    checkOpen();
    if (!(program instanceof SimulatedProgram simulated) || simulated.device() != this) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "program '" + program.name() + "' was not compiled for this device");
    }
    List<SimulatedBuffer> inputs = simulated.checkArguments(arguments);
    long start = Math.max(clock.nanoTime(), deviceFreeAt);
    for (SimulatedBuffer input : inputs) {
      start = Math.max(start, input.arrivedNanos());
    }
    deviceFreeAt = start + options.executionNanos().applyAsLong(simulated.name());
    executions.incrementAndGet();
    return new SimulatedExecution(clock, deviceFreeAt, run(simulated, inputs, deviceFreeAt));
  }

  @Override
  public DeviceMemory memory() {
    return new DeviceMemory(
        OptionalLong.of(bytesInUse.get()),
        OptionalLong.of(options.memoryBytes()),
        OptionalLong.of(peakBytes.get()));
  }

  /** Programs and buffers that have not been closed. */
  public int openHandles() {
    return openHandles.size();
  }

  /** When the last execution started so far will be over, on the device's clock. */
  public long busyUntilNanos() {
    return deviceFreeAt;
  }

  /** Executions started so far. */
  public long executions() {
    return executions.get();
  }

  @Override
  public void close() {
    if (!openHandles.isEmpty()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "close these before the device: "
              + openHandles.values().stream().limit(10).sorted().collect(Collectors.joining(", ")));
    }
    closed = true;
  }

  private List<SimulatedBuffer> run(
      SimulatedProgram program, List<SimulatedBuffer> inputs, long endNanos) {
    List<MemorySegment> arguments = inputs.stream().map(SimulatedBuffer::data).toList();
    List<SimulatedBuffer> outputs = new ArrayList<>();
    try {
      for (TensorType type : program.results()) {
        MemorySegment memory = MemorySegment.ofArray(new byte[Math.toIntExact(type.byteSize())]);
        outputs.add(newBuffer(type, memory, endNanos));
      }
      program
          .function()
          .apply(program, arguments, outputs.stream().map(SimulatedBuffer::data).toList());
      return outputs;
    } catch (RuntimeException e) {
      outputs.forEach(SimulatedBuffer::close);
      throw e;
    }
  }

  private SimulatedBuffer newBuffer(TensorType type, MemorySegment data, long arrivedNanos) {
    long bytes = type.byteSize();
    long used = bytesInUse.addAndGet(bytes);
    if (used > options.memoryBytes()) {
      bytesInUse.addAndGet(-bytes);
      throw new DeviceException(
          DeviceException.Code.OUT_OF_MEMORY,
          "no room for %s: %d bytes wanted, %d of %d in use"
              .formatted(type, bytes, used - bytes, options.memoryBytes()));
    }
    peakBytes.accumulateAndGet(used, Math::max);
    SimulatedBuffer buffer = new SimulatedBuffer(type, data, arrivedNanos, this);
    openHandles.put(buffer, "buffer " + type);
    return buffer;
  }

  void onClosed(SimulatedBuffer buffer) {
    bytesInUse.addAndGet(-buffer.type().byteSize());
    openHandles.remove(buffer);
  }

  void onClosed(SimulatedProgram program) {
    openHandles.remove(program);
  }

  void awaitTime(long nanos) {
    clock.sleepUntil(nanos);
  }

  private static void checkSize(TensorType type, MemorySegment data) {
    if (!type.dtype().fixedSize() || !type.shape().isStatic()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "a device tensor has elements of fixed size and a fixed shape, got " + type);
    }
    long expected;
    try {
      expected = type.byteSize();
    } catch (ArithmeticException e) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT, type + " has more bytes than can be counted", e);
    }
    if (data.byteSize() != expected) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "upload of %s needs %d bytes, got %d".formatted(type, expected, data.byteSize()));
    }
  }

  private static ArtifactSignature signature(ProgramSource source) {
    try {
      Artifact artifact = ArtifactReader.read(source.code(), source.name());
      return artifact
          .signature()
          .orElseThrow(
              () ->
                  new DeviceException(
                      DeviceException.Code.UNSUPPORTED,
                      "the simulated device reads StableHLO text only; '"
                          + source.name()
                          + "' is bytecode"));
    } catch (BundleException e) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "program '"
              + source.name()
              + "' does not compile: "
              + e.getMessage()
              + "; it begins with: "
              + beginning(source.code()),
          e);
    }
  }

  private static String beginning(byte[] code) {
    return new String(code, 0, Math.min(code.length, 40), StandardCharsets.ISO_8859_1);
  }

  private static byte[] copyOf(MemorySegment data) {
    byte[] copy = new byte[Math.toIntExact(data.byteSize())];
    MemorySegment.copy(data, 0, MemorySegment.ofArray(copy), 0, copy.length);
    return copy;
  }

  private void checkOpen() {
    if (closed) {
      throw new DeviceException(DeviceException.Code.CLOSED, "the simulated device is closed");
    }
  }
}
