package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.tensor.TensorType;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceProgram;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.model.CompiledProgram;
import dev.roundhouse.engine.model.ServedModel;
import dev.roundhouse.engine.observe.BatchTally;
import dev.roundhouse.engine.schedule.CostEstimate;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A compiled program with everything about a batch of it worked out beforehand: where each input
 * lies in the staging slot, where rows lie in inputs and outputs, the argument array with the
 * weights already in it. Owned by the dispatch thread.
 */
final class PreparedProgram {
  private final DeviceProgram program;
  private final int batchSize;
  private final RowLayout[] inputs;
  private final RowLayout[] outputs;
  private final long[] stagingOffsets;
  private final long stagingBytes;
  private final @Nullable DeviceBuffer[] arguments;
  private final CostEstimate cost;
  private final BatchTally tally;

  // The inputs' places in the staging slot; made again when the slot has grown.
  private final @Nullable MemorySegment[] staged;
  private int stagedGeneration = -1;

  PreparedProgram(ServedModel model, CompiledProgram compiled) {
    cost = compiled.cost();
    tally = compiled.tally();
    program = compiled.program();
    batchSize = compiled.batchSize();
    List<TensorType> parameters = program.parameters();
    int inputCount = model.spec().inputs().size();
    inputs = new RowLayout[inputCount];
    staged = new @Nullable MemorySegment[inputCount];
    stagingOffsets = new long[inputCount];
    long offset = 0;
    for (int i = 0; i < inputCount; i++) {
      inputs[i] = RowLayout.of(model.spec().inputs().get(i), parameters.get(i));
      stagingOffsets[i] = offset;
      offset = StagingSlot.align(Math.addExact(offset, inputs[i].byteSize()));
    }
    stagingBytes = offset;
    outputs = new RowLayout[model.spec().outputs().size()];
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = RowLayout.of(model.spec().outputs().get(i), program.results().get(i));
    }
    arguments = new @Nullable DeviceBuffer[parameters.size()];
    List<DeviceBuffer> weights = model.weights().onDevice();
    for (int i = 0; i < weights.size(); i++) {
      arguments[inputCount + i] = weights.get(i);
    }
  }

  int batchSize() {
    return batchSize;
  }

  /** What a run of this program costs the device. */
  CostEstimate cost() {
    return cost;
  }

  /** How often it ran. */
  BatchTally tally() {
    return tally;
  }

  long stagingBytes() {
    return stagingBytes;
  }

  int inputCount() {
    return inputs.length;
  }

  RowLayout input(int index) {
    return inputs[index];
  }

  int outputCount() {
    return outputs.length;
  }

  RowLayout output(int index) {
    return outputs[index];
  }

  long stagingOffset(int input) {
    return stagingOffsets[input];
  }

  /** Uploads the inputs that stand in {@code staging} and starts an execution over them. */
  Execution execute(Device device, StagingSlot staging) {
    if (stagedGeneration != staging.generation()) {
      stage(staging);
    }
    try {
      for (int i = 0; i < inputs.length; i++) {
        MemorySegment data = staged[i];
        if (data != null) {
          arguments[i] = device.upload(inputs[i].type(), data, HostMemory.ALIAS);
        }
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
    for (int i = 0; i < inputs.length; i++) {
      DeviceBuffer buffer = arguments[i];
      arguments[i] = null;
      if (buffer != null) {
        buffer.close();
      }
    }
  }

  private void stage(StagingSlot staging) {
    for (int i = 0; i < inputs.length; i++) {
      staged[i] = staging.memory().asSlice(stagingOffsets[i], inputs[i].byteSize());
    }
    stagedGeneration = staging.generation();
  }
}
