package dev.roundhouse.worker.tee;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.ForwardingSink;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.worker.tee.TeeCounts.Drop;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The sink of a request that is copied once it is answered, and before its sink is told: afterwards
 * neither the request's memory nor the answer's need be there. Whoever delivers the answer copies
 * what is small; what is large the copying thread copies and delivers.
 */
final class Tapped extends ForwardingSink {
  /** What is copied at once: some 10 µs of whoever delivers the answer. */
  static final long SMALL_BYTES = 64 << 10;

  private final TeedModel model;
  private final ModelSpec made;
  private final CopyThread copies;
  private final List<InputTensor> inputs;
  private @Nullable Answer kept;

  /**
   * @param made what serves now
   * @param inputs borrowed until the sink is told of the end
   */
  Tapped(
      TeedModel model,
      ModelSpec made,
      CopyThread copies,
      List<InputTensor> inputs,
      AnswerSink sink) {
    super(sink);
    this.model = model;
    this.made = made;
    this.copies = copies;
    this.inputs = inputs;
  }

  @Override
  public void onPart(Answer part) {
    if (part.isLast() && kept == null && byteSize(part) > SMALL_BYTES) {
      kept = part;
      return;
    }
    if (part.isLast()) {
      RowCopy.take(model, made, inputs, part);
    }
    sink().onPart(part);
  }

  private long byteSize(Answer part) {
    long bytes = 0;
    for (InputTensor input : inputs) {
      bytes += input.data().byteSize();
    }
    for (OutputTensor output : part.outputs()) {
      bytes += output.data().byteSize();
    }
    return bytes;
  }

  @Override
  public void onEnd(Outcome outcome) {
    Answer part = kept;
    if (part == null) {
      sink().onEnd(outcome);
    } else if (!isHandedOver(part, outcome)) {
      tell(part, outcome);
    }
  }

  /** False when it is not copied, which is counted. Throws nothing. */
  private boolean isHandedOver(Answer part, Outcome outcome) {
    try {
      boolean isTaken = copies.offer(byteSize(part), () -> copyAndTell(part, outcome));
      if (!isTaken) {
        model.counts().dropped(Drop.BUSY, RowCopy.rows(made, inputs));
      }
      return isTaken;
    } catch (RuntimeException | Error e) {
      model.failed(e, RowCopy.rows(made, inputs));
      return false;
    }
  }

  private void copyAndTell(Answer part, Outcome outcome) {
    try {
      RowCopy.take(model, made, inputs, part);
    } finally {
      tell(part, outcome);
    }
  }

  /** Both, whatever the sink says of the first: a client must not wait for ever. */
  private void tell(Answer part, Outcome outcome) {
    try {
      sink().onPart(part);
    } finally {
      sink().onEnd(outcome);
    }
  }
}
