package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.queue.QueueRules;
import dev.roundhouse.engine.residency.ModelWeights;
import java.util.List;

/**
 * A model version with programs and weights of its own, and a lane. Immutable, but for the
 * counters; programs and weights are used by the dispatch thread only once it is ready.
 *
 * @param modelIndex its index in everything that is kept per model; another model may get it once
 *     this one has been freed
 * @param fingerprint of the files it was made of; empty when it was not read from files
 * @param counters its own; they also say whether a request of it is open
 */
public record ProgramModel(
    int modelIndex,
    String name,
    String version,
    String fingerprint,
    ModelSpec spec,
    ModelContract contract,
    List<CompiledProgram> programs,
    QueueRules queueRules,
    RunCosts runCosts,
    ModelWeights weights,
    ModelCounters counters)
    implements Servable {

  public ProgramModel {
    programs = List.copyOf(programs);
  }

  /**
   * Most device memory that its batches take besides weights, in bytes: the scratch of one run, the
   * inputs of that and the next, the outputs of that and the two before.
   */
  public long scratchBytes() {
    long most = 0;
    for (CompiledProgram each : programs) {
      DeviceProgram program = each.program();
      long inputs = bytes(program.parameters().subList(0, spec.inputs().size()));
      long scratch = program.memory().tempBytes() + 2 * inputs + 3 * bytes(program.results());
      most = Math.max(most, scratch);
    }
    return most;
  }

  private static long bytes(List<TensorType> types) {
    return types.stream().mapToLong(TensorType::byteSize).sum();
  }

  @Override
  public ProgramModel inLane() {
    return this;
  }

  @Override
  public List<ProgramModel> needs() {
    return List.of(this);
  }

  @Override
  public int shareKey() {
    return modelIndex;
  }

  @Override
  public long leastRunNanos(int variant, int rows, long nowNanos) {
    return runCosts.leastNanos(variant, rows, nowNanos);
  }

  @Override
  public long leastWaitNanos(long nowNanos) {
    return weights.leastWaitNanos(nowNanos);
  }

  @Override
  public boolean isOnDevice() {
    return weights.isResident();
  }

  @Override
  public long residentBytes() {
    return weights.isResident() ? weights.byteSize() : 0;
  }

  /** Compiled sizes of a variant, ascending. */
  public int[] batchSizes(int variant) {
    return programs.stream()
        .filter(program -> program.variant() == variant)
        .mapToInt(CompiledProgram::batchSize)
        .sorted()
        .toArray();
  }
}
