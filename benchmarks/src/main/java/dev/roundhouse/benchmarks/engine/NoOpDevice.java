package dev.roundhouse.benchmarks.engine;

import dev.roundhouse.bundle.artifact.ArtifactReader;
import dev.roundhouse.bundle.artifact.ArtifactSignature;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceDescription;
import dev.roundhouse.engine.device.DeviceMemory;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Does as little as a checkable device can: each row's answer is the first 4 bytes of that row's
 * input, there as soon as it was asked for. It counts nothing and checks nothing, so that what is
 * measured is the engine.
 */
final class NoOpDevice implements Device {
  private static final int ANSWER_BYTES = 4;

  /** One of each kind, so that what is measured of a program's memory is not the device's. */
  private final Map<ArtifactSignature, ArtifactSignature> signatures = new ConcurrentHashMap<>();

  @Override
  public DeviceDescription description() {
    return new DeviceDescription("simulated", "no-op", 0, true, false, Map.of());
  }

  @Override
  public DeviceProgram compile(ProgramSource source) {
    ArtifactSignature signature =
        signatures.computeIfAbsent(
            ArtifactReader.read(source.code(), source.name())
                .signature()
                .orElseThrow(() -> new IllegalArgumentException(source.name() + " is not text")),
            same -> same);
    int rows = Math.toIntExact(signature.results().getFirst().byteSize() / ANSWER_BYTES);
    long rowBytes = signature.parameters().getFirst().byteSize() / rows;
    return new Program(
        source.name(),
        signature.parameters(),
        signature.results(),
        signature.results().getFirst(),
        rows,
        rowBytes);
  }

  @Override
  public DeviceBuffer upload(TensorType type, MemorySegment data, HostMemory use) {
    return new Buffer(type, data);
  }

  @Override
  public Execution execute(DeviceProgram program, DeviceBuffer[] arguments) {
    Program noOp = (Program) program;
    MemorySegment input = ((Buffer) arguments[0]).data;
    MemorySegment output = MemorySegment.ofArray(new byte[noOp.rows * ANSWER_BYTES]);
    for (int row = 0; row < noOp.rows; row++) {
      MemorySegment.copy(
          input, row * noOp.rowBytes, output, (long) row * ANSWER_BYTES, ANSWER_BYTES);
    }
    return new Run(new Buffer(noOp.answer, output));
  }

  @Override
  public DeviceMemory memory() {
    return DeviceMemory.UNKNOWN;
  }

  @Override
  public void close() {}

  private record Program(
      String name,
      List<TensorType> parameters,
      List<TensorType> results,
      TensorType answer,
      int rows,
      long rowBytes)
      implements DeviceProgram {
    @Override
    public ProgramMemory memory() {
      return new ProgramMemory(
          parameters.getFirst().byteSize(), results.getFirst().byteSize(), 0, 0);
    }

    @Override
    public void close() {}
  }

  private record Buffer(TensorType type, MemorySegment data) implements DeviceBuffer {
    @Override
    public boolean isReady() {
      return true;
    }

    @Override
    public void awaitReady() {}

    @Override
    public void read(long offset, MemorySegment target) {
      MemorySegment.copy(data, offset, target, 0, target.byteSize());
    }

    @Override
    public void close() {}
  }

  private record Run(Buffer output) implements Execution {
    @Override
    public boolean isDone() {
      return true;
    }

    @Override
    public void onDone(Runnable callback) {
      callback.run();
    }

    @Override
    public void await() {}

    @Override
    public DeviceBuffer output(int index) {
      return output;
    }

    @Override
    public void close() {}
  }
}
