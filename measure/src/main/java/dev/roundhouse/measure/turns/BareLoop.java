package dev.roundhouse.measure.turns;

import dev.roundhouse.bundle.Bundle;
import dev.roundhouse.bundle.BundleReader;
import dev.roundhouse.bundle.ProgramFile;
import dev.roundhouse.bundle.weights.Weight;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.device.ProgramSource;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;

/**
 * The floor: upload, execute, await, read, again and again, on one thread and with nothing around
 * it. Weights are on the device. Not thread-safe.
 */
final class BareLoop implements AutoCloseable {
  private final Device device;
  private final int batch;
  private final Arena arena = Arena.ofShared();
  private final DeviceProgram program;
  private final DeviceBuffer[] arguments;
  private final MemorySegment input;
  private final MemorySegment output;

  private BareLoop(Device device, int batch, Bundle bundle, ProgramFile file) {
    this.device = device;
    this.batch = batch;
    program = device.compile(new ProgramSource(file.name(), file.read()));
    arguments = new DeviceBuffer[program.parameters().size()];
    List<Weight> weights = bundle.weights().arguments();
    for (int i = 0; i < weights.size(); i++) {
      MemorySegment memory = arena.allocate(weights.get(i).type().byteSize(), 64);
      bundle.weights().copyTo(i, memory);
      arguments[1 + i] = device.upload(weights.get(i).type(), memory, HostMemory.ALIAS);
    }
    input = arena.allocate(program.parameters().getFirst().byteSize(), 64);
    output = arena.allocate(program.results().getFirst().byteSize(), 64);
  }

  /** Compiles the program of a bundle that takes {@code batch} rows of one input. */
  static BareLoop open(Device device, Path folder, String name, int batch) {
    try (Bundle bundle = BundleReader.read(folder, name)) {
      ProgramFile file =
          bundle.programs(device.description().platform()).stream()
              .filter(each -> each.name().contains(".b" + batch + "."))
              .findFirst()
              .orElseThrow(() -> new IllegalArgumentException("no program of size " + batch));
      return new BareLoop(device, batch, bundle, file);
    }
  }

  double rowsPerSecond(int millis) {
    long start = System.nanoTime();
    long end = start + millis * 1_000_000L;
    long rows = 0;
    long now = start;
    while (now < end) {
      arguments[0] = device.upload(program.parameters().getFirst(), input, HostMemory.ALIAS);
      try (Execution execution = device.execute(program, arguments)) {
        execution.await();
        execution.output(0).read(0, output);
      }
      arguments[0].close();
      rows += batch;
      now = System.nanoTime();
    }
    return rows * 1e9 / (now - start);
  }

  @Override
  public void close() {
    for (int i = 1; i < arguments.length; i++) {
      arguments[i].close();
    }
    program.close();
    arena.close();
  }
}
