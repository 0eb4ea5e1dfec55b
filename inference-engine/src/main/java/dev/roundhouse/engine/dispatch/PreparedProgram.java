package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.schedule.CostEstimate;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A compiled program with everything about a batch of it worked out beforehand: its layout, and the
 * argument array with the weights already in it. Owned by the dispatch thread.
 */
final class PreparedProgram {
  private final DeviceProgram program;
  private final int batchSize;
  private final ProgramLayout layout;
  private final @Nullable DeviceBuffer[] arguments;
  private final CostEstimate cost;
  private final BatchTally tally;

  PreparedProgram(ServedModel model, CompiledProgram compiled, ProgramLayout layout) {
    this.layout = layout;
    cost = compiled.cost();
    tally = compiled.tally();
    program = compiled.program();
    batchSize = compiled.batchSize();
    arguments = new @Nullable DeviceBuffer[program.parameters().size()];
    List<DeviceBuffer> weights = model.weights().onDevice();
    for (int i = 0; i < weights.size(); i++) {
      arguments[layout.inputCount() + i] = weights.get(i);
    }
  }

  int batchSize() {
    return batchSize;
  }

  ProgramLayout layout() {
    return layout;
  }

  /** What a run of this program costs the device. */
  CostEstimate cost() {
    return cost;
  }

  /** How often it ran. */
  BatchTally tally() {
    return tally;
  }

  /** Uploads the inputs that stand in {@code staging} and starts an execution over them. */
  Execution execute(Device device, StagingSlot staging) {
    try {
      for (int i = 0; i < layout.inputCount(); i++) {
        arguments[i] =
            device.upload(layout.input(i).type(), layout.staged(i, staging), HostMemory.ALIAS);
      }
      @SuppressWarnings(
          "NullAway") // every element is set by now: inputs above, weights at the start
      DeviceBuffer[] all = arguments;
      return device.execute(program, all);
    } catch (RuntimeException | Error e) {
      closeInputs();
      throw e;
    }
  }

  /** Frees the uploaded inputs; once the execution is over. */
  void closeInputs() {
    for (int i = 0; i < layout.inputCount(); i++) {
      DeviceBuffer buffer = arguments[i];
      arguments[i] = null;
      if (buffer != null) {
        buffer.close();
      }
    }
  }
}
