package dev.roundhouse.client;

import dev.roundhouse.client.AnswerReader.Place;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import org.jspecify.annotations.Nullable;

/**
 * What a server answered.
 *
 * @param stats of the call
 * @param loan of the shared memory that holds outputs; null when none is shared. Returned when the
 *     answer is closed
 */
record Answer(ModelInferResponse response, CallStats stats, @Nullable Loan loan)
    implements AutoCloseable {

  /** A copy of the outputs. */
  InferResult read() {
    return AnswerReader.read(response, stats, loan, Place.COPY);
  }

  /** The outputs in place, valid until the answer is closed. */
  InferResult view() {
    return AnswerReader.read(response, stats, loan, Place.VIEW);
  }

  @Override
  public void close() {
    if (loan != null) {
      loan.end(true);
    }
  }
}
