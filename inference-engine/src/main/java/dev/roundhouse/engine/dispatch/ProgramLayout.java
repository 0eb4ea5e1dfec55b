package dev.roundhouse.engine.dispatch;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Where each input of a program lies in the staging slot, and where rows lie in its inputs and
 * outputs. Shared by programs that are alike. Owned by the dispatch thread.
 */
final class ProgramLayout {
  private final RowLayout[] inputs;
  private final RowLayout[] outputs;
  private final long[] stagingOffsets;
  private final long stagingBytes;

  // The inputs' places in the staging slot; made again when the slot has grown.
  private final @Nullable MemorySegment[] staged;
  private int stagedGeneration = -1;

  ProgramLayout(
      List<TensorSpec> inputSpecs,
      List<TensorType> inputTypes,
      List<TensorSpec> outputSpecs,
      List<TensorType> outputTypes) {
    inputs = new RowLayout[inputSpecs.size()];
    staged = new @Nullable MemorySegment[inputs.length];
    stagingOffsets = new long[inputs.length];
    long offset = 0;
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = RowLayout.of(inputSpecs.get(i), inputTypes.get(i));
      stagingOffsets[i] = offset;
      offset = StagingSlot.align(Math.addExact(offset, inputs[i].byteSize()));
    }
    stagingBytes = offset;
    outputs = new RowLayout[outputSpecs.size()];
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = RowLayout.of(outputSpecs.get(i), outputTypes.get(i));
    }
  }

  /** Of all inputs, with what keeps them aligned. */
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

  /** An input's place in the slot. */
  MemorySegment staged(int input, StagingSlot slot) {
    MemorySegment place = staged[input];
    if (place == null || stagedGeneration != slot.generation()) {
      for (int i = 0; i < inputs.length; i++) {
        staged[i] = slot.memory().asSlice(stagingOffsets[i], inputs[i].byteSize());
      }
      stagedGeneration = slot.generation();
      place = slot.memory().asSlice(stagingOffsets[input], inputs[input].byteSize());
    }
    return place;
  }
}
