package dev.roundhouse.client;

import dev.roundhouse.client.AnswerReader.Place;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import org.jspecify.annotations.Nullable;

/**
 * What a server answered.
 *
 * @param stats of the call
 * @param loan of the memory that holds outputs; null when none is shared. Given back when the
 *     answer is closed
 */
record Answer(ModelInferResponse response, CallStats stats, @Nullable Loan loan)
    implements AutoCloseable {

  /** The outputs in memory of their own. */
  InferResult read() {
    return AnswerReader.read(response, stats, loan, Place.COPY);
  }

  /** The outputs where they lie, until the answer is closed. */
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
