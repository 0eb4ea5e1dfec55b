package dev.roundhouse.engine.device;

import dev.roundhouse.bundle.artifact.Artifact;
import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.SimulatedDeviceOptions.Pinning;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * An accelerator made of arithmetic: it has a memory limit, a link of a given rate, an execution
 * time per program, and a clock, which may stand still until a test moves it. Programs are real
 * StableHLO text, of which only {@code @main}'s signature is read; what they compute is a {@link
 * ReferenceFunction} found by the program's name, so results can be checked.
 *
 * <p>Uploads occupy the link one after the other, executions the device; both take simulated time
 * only. Thread-safe as {@link Device} asks.
 *
 * <p>It is stricter than a real device. Results are computed when a run ends, of what the arguments
 * are then; a run fails when memory under its aliased arguments was changed or freed meanwhile;
 * what a run uses cannot be closed; what was seen of an output in place is overwritten when that is
 * closed; and there are no more runs at a time than the options allow. Once a run has failed with
 * DEVICE_LOST, so does every call.
 */
public final class SimulatedDevice implements Device {
  private static final Thread ANY_OTHER_THREAD = Thread.ofPlatform().unstarted(() -> {});

  private final SimulatedDeviceOptions options;
  private final NanoClock clock;
  private final AtomicLong bytesInUse = new AtomicLong();
  private final AtomicLong peakBytes = new AtomicLong();
  private final AtomicLong linkFreeAt = new AtomicLong(Long.MIN_VALUE);
  private final Set<SimulatedHandle> openHandles = ConcurrentHashMap.newKeySet();
  private final PinnedRanges pinned = new PinnedRanges();
  private final AtomicLong uploadedBytes = new AtomicLong();
  private final AtomicLong readBytes = new AtomicLong();
  private final AtomicLong compiles = new AtomicLong();
  private final AtomicLong executions = new AtomicLong();
  private final AtomicLong closedAgain = new AtomicLong();
  private final AtomicInteger inFlight = new AtomicInteger();
  private volatile long deviceFreeAt = Long.MIN_VALUE;
  private volatile @Nullable DeviceException lost;
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
        false,
        Map.of(
            "memory_bytes", Long.toString(options.memoryBytes()),
            "link_bytes_per_second", Long.toString(options.linkBytesPerSecond())));
  }

  @Override
  public DeviceProgram compile(ProgramSource source) {
    checkOpen();
    ArtifactSignature signature = signature(source);
    compiles.incrementAndGet();
    return opened(source.name(), signature);
  }

  /** Another device's simulated link or memory makes it another target. */
  @Override
  public Optional<String> compileTarget() {
    return Optional.of(SimulatedSerialForm.target(description()));
  }

  @Override
  public byte[] serialize(DeviceProgram program) {
    checkOpen();
    SimulatedProgram own = own(program);
    own.hold();
    try {
      return SimulatedSerialForm.write(
          description(), new ArtifactSignature(own.parameters(), own.results()));
    } finally {
      own.release();
    }
  }

  @Override
  public DeviceProgram load(String name, byte[] serialized) {
    checkOpen();
    return opened(name, SimulatedSerialForm.read(description(), name, serialized));
  }

  private SimulatedProgram opened(String name, ArtifactSignature signature) {
    SimulatedProgram program =
        new SimulatedProgram(
            name,
            signature.parameters(),
            signature.results(),
            options.functions().apply(name),
            this);
    openHandles.add(program);
    return program;
  }

  private SimulatedProgram own(DeviceProgram program) {
    if (program instanceof SimulatedProgram simulated && simulated.device() == this) {
      return simulated;
    }
    throw new DeviceException(
        DeviceException.Code.INVALID_ARGUMENT,
        "program '" + program.name() + "' was not compiled for this device");
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    checkOpen();
    check(type, data, use);
    long arrived = crossLink(type.byteSize());
    // Aliased memory is read when a run ends; copied memory is what it was at this moment.
    boolean aliased = use == HostMemory.ALIAS;
    MemorySegment held = aliased ? data : MemorySegment.ofArray(copyOf(data));
    reserve(type);
    return opened(SimulatedBuffer.uploaded(this, type, held, aliased, arrived));
  }

  @Override
  public Optional<PartedUpload> uploadInParts(TensorType type) {
    checkOpen();
    if (byteSize(type) == 0) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT, type + " has no bytes, so no parts");
    }
    reserve(type);
    return Optional.of(new SimulatedPartedUpload(this, opened(SimulatedBuffer.parted(this, type))));
  }

  /** Has bytes cross the link after all that is on it; returns when they have. */
  long crossLink(long bytes) {
    uploadedBytes.addAndGet(bytes);
    long now = clock.nanoTime();
    long transfer = options.transferNanos(bytes);
    return linkFreeAt.updateAndGet(free -> Math.addExact(Math.max(free, now), transfer));
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    checkOpen();
    pinned.checkAlive();
    SimulatedProgram simulated = own(program);
    List<SimulatedBuffer> inputs = simulated.checkArguments(arguments);
    List<SimulatedHandle> held = new ArrayList<>(inputs.size() + 1);
    List<SimulatedBuffer> outputs = new ArrayList<>(simulated.results().size());
    boolean started = false;
    try {
      hold(simulated, held);
      inputs.forEach(input -> hold(input, held));
      inputs.forEach(SimulatedBuffer::checkAlive);
      takeTurn(simulated);
      long end = endNanos(simulated, inputs);
      for (TensorType type : simulated.results()) {
        reserve(type);
        SimulatedBuffer output = opened(SimulatedBuffer.output(this, type, end));
        output.hold(); // by the run that makes it
        outputs.add(output);
      }
      Execution execution = new SimulatedExecution(this, simulated, inputs, outputs, end);
      deviceFreeAt = end;
      inFlight.getAndIncrement();
      executions.incrementAndGet();
      started = true;
      return execution;
    } finally {
      if (!started) {
        held.forEach(SimulatedHandle::release);
        for (SimulatedBuffer output : outputs) {
          output.release();
          output.close();
        }
      }
    }
  }

  private static void hold(SimulatedHandle handle, List<SimulatedHandle> held) {
    handle.hold();
    held.add(handle);
  }

  private void takeTurn(SimulatedProgram program) {
    int running = inFlight.get();
    if (running >= options.maxInFlight()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "%s was started while %d of at most %d runs are under way; see their end first"
              .formatted(program.describe(), running, options.maxInFlight()));
    }
  }

  private long endNanos(SimulatedProgram program, List<SimulatedBuffer> inputs) {
    long start = Math.max(clock.nanoTime(), deviceFreeAt);
    for (SimulatedBuffer input : inputs) {
      start = Math.max(start, input.arrivedNanos());
    }
    long nanos = options.executionNanos().applyAsLong(program.name());
    // A program that never ends takes Long.MAX_VALUE.
    return nanos > Long.MAX_VALUE - Math.max(start, 0) ? Long.MAX_VALUE : start + nanos;
  }

  @Override
  public Optional<PinnedMemory> pin(MemorySegment memory) {
    checkOpen();
    pinned.add(memory);
    if (options.pinning() == Pinning.NONE) {
      pinned.remove(memory);
      return Optional.empty();
    }
    SimulatedPin pin = new SimulatedPin(this, memory);
    openHandles.add(pin);
    return Optional.of(pin);
  }

  /** What it is not worth to simulate is the order in memory: all that is free is one block. */
  @Override
  public DeviceMemory memory() {
    long used = bytesInUse.get();
    return new DeviceMemory(
        OptionalLong.of(used),
        OptionalLong.of(options.memoryBytes()),
        OptionalLong.of(peakBytes.get()),
        OptionalLong.of(Math.max(0, options.memoryBytes() - used)));
  }

  /** Checks that a read goes to pinned memory where that is required. */
  void checkTarget(MemorySegment target, TensorType type) {
    pinned.checkAlive();
    if (options.pinning() == Pinning.REQUIRED
        && target.byteSize() > 0
        && !pinned.contains(target)) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "read of " + type + ": the target is not in pinned memory, which this device insists on");
    }
  }

  /** Programs, buffers and pinned memories that have not been closed. */
  public int openHandles() {
    return openHandles.size();
  }

  /** How often something was closed that was closed already. */
  public long closedAgain() {
    return closedAgain.get();
  }

  /** When the last execution started so far will be over, on the device's clock. */
  public long busyUntilNanos() {
    return deviceFreeAt;
  }

  /** When the last upload begun so far will have crossed the link, on the device's clock. */
  public long linkBusyUntilNanos() {
    return linkFreeAt.get();
  }

  /** Programs compiled so far; those that were loaded do not count. */
  public long compiles() {
    return compiles.get();
  }

  /** Bytes of all uploads so far, in parts or whole. */
  public long uploadedBytes() {
    return uploadedBytes.get();
  }

  /** Bytes that were read so far; what was looked at in place does not count. */
  public long readBytes() {
    return readBytes.get();
  }

  void onRead(long bytes) {
    readBytes.addAndGet(bytes);
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
              + openHandles.stream()
                  .limit(10)
                  .map(SimulatedHandle::describe)
                  .sorted()
                  .collect(Collectors.joining(", ")));
    }
    closed = true;
  }

  private void reserve(TensorType type) {
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
  }

  private SimulatedBuffer opened(SimulatedBuffer buffer) {
    openHandles.add(buffer);
    return buffer;
  }

  void onClosedAgain() {
    closedAgain.incrementAndGet();
  }

  void onClosed(SimulatedHandle handle) {
    openHandles.remove(handle);
    if (handle instanceof SimulatedBuffer buffer) {
      bytesInUse.addAndGet(-buffer.type().byteSize());
      buffer.spoilView();
    }
    if (handle instanceof SimulatedPin pin) {
      pinned.remove(pin.memory());
      if (!pin.memory().scope().isAlive()) {
        throw new DeviceException(
            DeviceException.Code.CLOSED,
            pin.describe() + " were freed while they were pinned; unpin them first");
      }
    }
  }

  /** A run has been seen to end. */
  void onEnded() {
    inFlight.getAndDecrement();
  }

  void onFailed(Throwable failure) {
    if (failure instanceof DeviceException reason
        && reason.code() == DeviceException.Code.DEVICE_LOST) {
      lost = reason;
    }
  }

  NanoClock clock() {
    return clock;
  }

  boolean isPast(long nanos) {
    return clock.nanoTime() >= nanos;
  }

  /** Waits, whether or not the thread is interrupted, as plugins do. */
  void awaitTime(long nanos) {
    boolean interrupted = false;
    while (!isPast(nanos)) {
      clock.sleepUntil(nanos);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private static long byteSize(TensorType type) {
    if (!type.dtype().fixedSize() || !type.shape().isStatic()) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "a device tensor has elements of fixed size and a fixed shape, got " + type);
    }
    try {
      return type.byteSize();
    } catch (ArithmeticException e) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT, type + " has more bytes than can be counted", e);
    }
  }

  /** Memory that the device's threads read after the call. */
  static void checkShared(TensorType type, MemorySegment data) {
    if (data.isNative() && data.address() == 0 && data.byteSize() > 0) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "upload of " + type + ": its memory is at address 0");
    }
    if (!data.isAccessibleBy(ANY_OTHER_THREAD)) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "upload of " + type + ": its memory is read on the device's threads; use a shared arena");
    }
  }

  private static void check(TensorType type, MemorySegment data, HostMemory use) {
    long expected = byteSize(type);
    if (data.byteSize() != expected) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "upload of %s needs %d bytes, got %d".formatted(type, expected, data.byteSize()));
    }
    if (!data.scope().isAlive()) {
      throw new DeviceException(
          DeviceException.Code.CLOSED, "upload of " + type + ": its arena is closed");
    }
    if (!data.isAccessibleBy(Thread.currentThread())) {
      throw new DeviceException(
          DeviceException.Code.INVALID_ARGUMENT,
          "upload of " + type + ": its memory is confined to another thread");
    }
    if (use == HostMemory.ALIAS) {
      checkShared(type, data);
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
    DeviceException reason = lost;
    if (reason != null) {
      throw new DeviceException(
          DeviceException.Code.DEVICE_LOST,
          "the simulated device was lost: " + reason.getMessage(),
          reason);
    }
  }
}
