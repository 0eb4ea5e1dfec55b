package dev.roundhouse.engine.layout;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.tensor.TensorType;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Where each input of a program lies in staging memory, and where rows lie in its inputs and
 * outputs. Shared by programs that are alike. Owned by the dispatch thread; what does not concern
 * staging may be read by the thread that delivers.
 */
public final class ProgramLayout {
  private final RowLayout[] inputs;
  private final RowLayout[] outputs;
  private final @Nullable TrimmedAxes[] trimmed; // by output
  private final long[] stagingOffsets;
  private final long stagingBytes;
  private final long inputBytes;
  private final int paddedInput;
  private final long outputBytes;

  // The inputs' places in each staging memory, by its index; made again when one has grown.
  private @Nullable Places @Nullable [] places;

  ProgramLayout(
      List<TensorSpec> inputSpecs,
      List<TensorType> inputTypes,
      List<TensorSpec> outputSpecs,
      List<TensorType> outputTypes) {
    inputs = new RowLayout[inputSpecs.size()];
    stagingOffsets = new long[inputs.length];
    long offset = 0;
    long ofInputs = 0;
    for (int i = 0; i < inputs.length; i++) {
      inputs[i] = RowLayout.of(inputSpecs.get(i), inputTypes.get(i));
      stagingOffsets[i] = offset;
      offset = Staging.align(Math.addExact(offset, inputs[i].byteSize()));
      ofInputs += inputs[i].byteSize();
    }
    stagingBytes = offset;
    inputBytes = ofInputs;
    paddedInput =
        IntStream.range(0, inputs.length)
            .filter(i -> inputs[i].partial() != null)
            .findFirst()
            .orElse(-1);
    outputs = new RowLayout[outputSpecs.size()];
    trimmed = new @Nullable TrimmedAxes[outputs.length];
    long bytes = 0;
    for (int i = 0; i < outputs.length; i++) {
      outputs[i] = RowLayout.of(outputSpecs.get(i), outputTypes.get(i));
      trimmed[i] = TrimmedAxes.of(outputSpecs.get(i), inputSpecs);
      bytes = Math.addExact(bytes, outputs[i].byteSize());
    }
    outputBytes = bytes;
  }

  /** What {@link #stagingBytes} will be of a program with such inputs. */
  public static long stagingBytes(List<TensorType> inputs) {
    long bytes = 0;
    for (TensorType input : inputs) {
      bytes = Staging.align(Math.addExact(bytes, input.byteSize()));
    }
    return bytes;
  }

  /** Of all inputs, with what keeps them aligned. */
  public long stagingBytes() {
    return stagingBytes;
  }

  /** Of all inputs of a run. */
  public long inputBytes() {
    return inputBytes;
  }

  /** Of all outputs of a run. */
  public long outputBytes() {
    return outputBytes;
  }

  public int inputCount() {
    return inputs.length;
  }

  public RowLayout input(int index) {
    return inputs[index];
  }

  public int outputCount() {
    return outputs.length;
  }

  public RowLayout output(int index) {
    return outputs[index];
  }

  /** The first input that is padded to the program's shape; -1 for none. */
  public int paddedInput() {
    return paddedInput;
  }

  /** Where an output that is cut back has its sizes from; null for one that is not. */
  public @Nullable TrimmedAxes trimmed(int output) {
    return trimmed[output];
  }

  public long stagingOffset(int input) {
    return stagingOffsets[input];
  }

  /** An input's place in staging memory. */
  public MemorySegment staged(int input, Staging staging) {
    @Nullable Places[] known = places;
    if (known == null || known.length <= staging.index()) {
      known = new @Nullable Places[staging.index() + 1];
      if (places != null) {
        System.arraycopy(places, 0, known, 0, places.length);
      }
      places = known;
    }
    Places here = known[staging.index()];
    if (here == null || here.generation != staging.generation()) {
      here = new Places(staging.generation(), slices(staging.memory()));
      known[staging.index()] = here;
    }
    return here.inputs[input];
  }

  private MemorySegment[] slices(MemorySegment memory) {
    MemorySegment[] slices = new MemorySegment[inputs.length];
    for (int i = 0; i < slices.length; i++) {
      slices[i] = memory.asSlice(stagingOffsets[i], inputs[i].byteSize());
    }
    return slices;
  }

  private record Places(int generation, MemorySegment[] inputs) {}
}
