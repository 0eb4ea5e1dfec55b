package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.schedule.CostEstimate;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A compiled program with everything about a batch of it worked out beforehand: where each input
 * lies in the staging slot, where rows lie in inputs and outputs, the argument array with the
 * weights already in it. Owned by the dispatch thread.
 */
final class PreparedProgram {
  private final DeviceProgram program;
  private final int variant;
  private final int batchSize;
  private final List<RowLayout> inputs;
  private final List<RowLayout> outputs;
  private final long[] stagingOffsets;
  private final long stagingBytes;
  private final @Nullable DeviceBuffer[] arguments;
  private final CostEstimate cost;

  PreparedProgram(ServedModel model, CompiledProgram compiled) {
    cost = compiled.cost();
    program = compiled.program();
    variant = compiled.variant();
    batchSize = compiled.batchSize();
    List<TensorType> parameters = program.parameters();
    inputs = new ArrayList<>();
    stagingOffsets = new long[model.spec().inputs().size()];
    long offset = 0;
    for (int i = 0; i < stagingOffsets.length; i++) {
      RowLayout layout = RowLayout.of(model.spec().inputs().get(i), parameters.get(i));
      inputs.add(layout);
      stagingOffsets[i] = offset;
      offset = StagingSlot.align(Math.addExact(offset, layout.type().byteSize()));
    }
    stagingBytes = offset;
    outputs = new ArrayList<>();
    for (int i = 0; i < model.spec().outputs().size(); i++) {
      outputs.add(RowLayout.of(model.spec().outputs().get(i), program.results().get(i)));
    }
    arguments = new @Nullable DeviceBuffer[parameters.size()];
    List<DeviceBuffer> weights = model.weights().onDevice();
    for (int i = 0; i < weights.size(); i++) {
      arguments[stagingOffsets.length + i] = weights.get(i);
    }
  }

  int variant() {
    return variant;
  }

  int batchSize() {
    return batchSize;
  }

  /** What a run of this program costs the device. */
  CostEstimate cost() {
    return cost;
  }

  long stagingBytes() {
    return stagingBytes;
  }

  List<RowLayout> inputs() {
    return inputs;
  }

  List<RowLayout> outputs() {
    return outputs;
  }

  long stagingOffset(int input) {
    return stagingOffsets[input];
  }

  /** Uploads the inputs that stand in {@code staging} and starts an execution over them. */
  Execution execute(Device device, StagingSlot staging) {
    try {
      for (int i = 0; i < stagingOffsets.length; i++) {
        TensorType type = inputs.get(i).type();
        arguments[i] =
            device.upload(
                type, staging.slice(stagingOffsets[i], type.byteSize()), HostMemory.ALIAS);
      }
      @SuppressWarnings(
          "NullAway") // every element is set by now: inputs above, weights at the start
      DeviceBuffer[] all = arguments;
      return device.execute(program, all);
    } catch (RuntimeException e) {
      closeInputs();
      throw e;
    }
  }

  /** Frees the uploaded inputs; once the execution is over. */
  void closeInputs() {
    for (int i = 0; i < stagingOffsets.length; i++) {
      DeviceBuffer buffer = arguments[i];
      arguments[i] = null;
      if (buffer != null) {
        buffer.close();
      }
    }
  }
}
