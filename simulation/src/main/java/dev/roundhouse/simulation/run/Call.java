package dev.roundhouse.simulation.run;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.TensorData;
import dev.roundhouse.simulation.fleet.FleetModel;
import dev.roundhouse.simulation.fleet.RowTag;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;

/** One call from arrival to outcome, with its device time. */
final class Call implements AnswerSink {
  private static final ValueLayout.OfLong I64 = ValueLayout.JAVA_LONG_UNALIGNED;

  final long id;
  final FleetModel model;
  final int rows;
  final long arrivalNanos;

  /** Latest time that counts as in time; {@link InferenceRequest#NO_DEADLINE} for any. */
  final long deadlineNanos;

  /** True once an answer came in which each row was computed from that row of this call. */
  boolean answered;

  private final Ledger ledger;

  /** Rows given to the device. */
  int rowsRun;

  /** Device time spent on them. */
  long deviceNanos;

  Call(long id, FleetModel model, int rows, long arrivalNanos, long deadlineNanos, Ledger ledger) {
    this.id = id;
    this.model = model;
    this.rows = rows;
    this.arrivalNanos = arrivalNanos;
    this.deadlineNanos = deadlineNanos;
    this.ledger = ledger;
  }

  InferenceRequest request(boolean deadlineTold) {
    MemorySegment data = MemorySegment.ofArray(new byte[rows * Long.BYTES]);
    for (int row = 0; row < rows; row++) {
      data.setAtIndex(I64, row, RowTag.of(id, row));
    }
    return InferenceRequest.of(
            model.name(),
            List.of(
                new InputTensor(
                    FleetModel.INPUT, DType.I64, Shape.of(rows, 1), TensorData.of(data))),
            this)
        .deadlineNanos(deadlineTold ? deadlineNanos : InferenceRequest.NO_DEADLINE)
        .build();
  }

  @Override
  public void onPart(Answer part) {
    answered = isAnsweredBy(part.outputs());
    part.close();
  }

  @Override
  public void onEnd(Outcome outcome) {
    ledger.onOutcome(this, outcome);
  }

  /** True when each row of the answer was computed from that row of this call. */
  private boolean isAnsweredBy(List<OutputTensor> outputs) {
    MemorySegment data = outputs.getFirst().data();
    if (outputs.size() != 1 || data.byteSize() != (long) rows * Long.BYTES) {
      return false;
    }
    for (int row = 0; row < rows; row++) {
      if (data.getAtIndex(I64, row) != RowTag.answer(RowTag.of(id, row), model.index())) {
        return false;
      }
    }
    return true;
  }
}
