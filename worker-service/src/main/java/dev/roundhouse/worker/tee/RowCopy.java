package dev.roundhouse.worker.tee;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Copies the rows of one answered request into its model's ring, or counts why it does not. */
final class RowCopy {
  private final TeeSpec spec;

  /** In the order of the spec: inputs, then outputs. */
  private final TensorData[] sources;

  private long rows;

  private RowCopy(TeeSpec spec) {
    this.spec = spec;
    sources = new TensorData[spec.batch().inputs().size() + spec.batch().outputs().size()];
  }

  /**
   * Takes rows that fit. Throws nothing: a copy costs no request.
   *
   * @param made what served when the request came
   * @param inputs borrowed
   * @param answer borrowed
   */
  static void take(TeedModel model, ModelSpec made, List<InputTensor> inputs, Answer answer) {
    try {
      Drop why = taken(model, made, inputs, answer);
      if (why != null) {
        model.counts().dropped(why, rows(made, inputs));
      }
    } catch (RuntimeException | Error e) {
      model.failed(e, rows(made, inputs));
    }
  }

  /** Rows of a request, as far as they can be told from its inputs alone. */
  static long rows(ModelSpec made, List<InputTensor> inputs) {
    if (!made.isClientBatched() || inputs.isEmpty() || inputs.getFirst().shape().rank() == 0) {
      return 1;
    }
    return Math.max(1, inputs.getFirst().shape().dim(0));
  }

  /** Null when they were taken. */
  private static @Nullable Drop taken(
      TeedModel model, ModelSpec made, List<InputTensor> inputs, Answer answer) {
    Ring ring = model.ring();
    if (ring == null || ring.spec().made() != made) {
      return model.absent(made);
    }
    if (!ring.spec().version().equals(answer.modelVersion())) {
      return Drop.OTHER_VERSION;
    }
    RowCopy copy = new RowCopy(ring.spec());
    Drop unfit = copy.look(inputs, answer.outputs());
    if (unfit != null) {
      return unfit;
    }
    if (copy.rows > ring.capacity()) {
      return Drop.TOO_LARGE;
    }
    long first = ring.reserve(copy.rows);
    if (first == Ring.FULL) {
      return Drop.FULL;
    }
    if (first == Ring.RETIRED) {
      return model.absent(made);
    }
    boolean isWhole = false;
    try {
      isWhole = copy.into(ring, first);
    } catch (Error e) { // the rows are counted with their batch, which is lost
      model.say(e);
    }
    if (ring.commit(first, copy.rows, isWhole)) {
      model.tellReaders();
    }
    return null;
  }

  private @Nullable Drop look(List<InputTensor> inputs, List<OutputTensor> outputs) {
    int index = 0;
    for (StreamTensor each : spec.batch().inputs()) {
      InputTensor input = named(inputs, each.name());
      if (input == null || !fits(each, input.dtype(), input.shape())) {
        return Drop.OTHER_TENSORS;
      }
      if (input.data().waitsForDevice() || !input.data().isReadable()) {
        return Drop.UNREADABLE;
      }
      sources[index++] = input.data();
    }
    if (inputs.size() != spec.batch().inputs().size()) {
      return Drop.OTHER_TENSORS;
    }
    for (StreamTensor each : spec.batch().outputs()) {
      OutputTensor output = output(outputs, each.name());
      if (output == null || !fits(each, output.dtype(), output.shape())) {
        return Drop.OTHER_TENSORS;
      }
      sources[index++] = TensorData.of(output.data());
    }
    return rows == 0 ? Drop.OTHER_TENSORS : null;
  }

  private static @Nullable InputTensor named(List<InputTensor> inputs, String name) {
    for (int i = 0; i < inputs.size(); i++) {
      if (inputs.get(i).name().equals(name)) {
        return inputs.get(i);
      }
    }
    return null;
  }

  private static @Nullable OutputTensor output(List<OutputTensor> outputs, String name) {
    for (int i = 0; i < outputs.size(); i++) {
      if (outputs.get(i).name().equals(name)) {
        return outputs.get(i);
      }
    }
    return null;
  }

  private boolean fits(StreamTensor batched, DType dtype, Shape shape) {
    long has = dtype == batched.dtype() ? spec.rowsOf(batched, shape) : 0;
    if (rows == 0) {
      rows = has;
    }
    return has > 0 && has == rows;
  }

  /** False when an input could not be read after all. */
  private boolean into(Ring ring, long first) {
    try {
      for (int tensor = 0; tensor < sources.length; tensor++) {
        long rowBytes = sources[tensor].byteSize() / rows;
        for (long done = 0; done < rows; ) {
          int together = ring.together(first + done, rows - done);
          sources[tensor].copyTo(
              done * rowBytes, ring.place(tensor, first + done, rowBytes), 0, together * rowBytes);
          done += together;
        }
      }
      return true;
    } catch (RuntimeException unreadable) { // memory that its client has taken away
      return false;
    }
  }
}
