package dev.roundhouse.engine.layout;

import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ProgramModel;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.residency.ModelWeights;
import dev.roundhouse.engine.schedule.CostEstimate;
import org.jspecify.annotations.Nullable;

/**
 * A compiled program and what its batches have in common: layout, weights, cost. What belongs to a
 * single run is in the batch's slot. Owned by the dispatch thread.
 */
public final class PreparedProgram {
  /** A call that starts a run elsewhere takes a few microseconds. */
  private static final long LONG_CALL_NANOS = 50_000;

  private final DeviceProgram program;
  private final int batchSize;
  private final ProgramLayout layout;
  private final ModelWeights weights;
  private final CostEstimate cost;
  private final BatchTally tally;
  private boolean runsInCall;

  public PreparedProgram(ProgramModel model, CompiledProgram compiled, ProgramLayout layout) {
    this.layout = layout;
    cost = compiled.cost();
    tally = compiled.tally();
    program = compiled.program();
    batchSize = compiled.batchSize();
    weights = model.weights();
  }

  public DeviceProgram program() {
    return program;
  }

  public int batchSize() {
    return batchSize;
  }

  public ProgramLayout layout() {
    return layout;
  }

  /** What a run of this program costs the device. */
  public CostEstimate cost() {
    return cost;
  }

  /** How often it ran. */
  public BatchTally tally() {
    return tally;
  }

  /**
   * Notes how long the call took that started a run: XLA's CPU client runs what it thinks is short
   * inside that call.
   */
  public void calledFor(long nanos) {
    runsInCall = nanos >= LONG_CALL_NANOS;
  }

  /** True when starting a run takes as long as the run. */
  public boolean runsInCall() {
    return runsInCall;
  }

  /** Arguments of a run: the inputs, which are the first, and the weights after them. */
  public int argumentCount() {
    return layout.inputCount() + weights.count();
  }

  /** Puts the weights into the arguments of a run. */
  public void placeWeights(@Nullable DeviceBuffer[] arguments) {
    weights.place(arguments, layout.inputCount());
  }
}
