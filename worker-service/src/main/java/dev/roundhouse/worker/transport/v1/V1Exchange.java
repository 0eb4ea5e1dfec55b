package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.worker.transport.InferExchange;
import dev.roundhouse.worker.transport.Outcomes;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One request while it is under way.
 *
 * @param v2 what it is in v2; closed with it
 */
record V1Exchange(InferExchange v2, AnswerMapper answers) implements AutoCloseable {
  /** Why a model that answers in parts is refused. */
  static final String MANY_PARTS =
      "the v1 protocol has one answer to a request, and models with decoupled transaction policy have any number; ask by ModelStreamInfer of v2";

  /**
   * @param part borrowed by what is returned; null when there is none
   * @throws dev.roundhouse.kserve.status.WireException why there is no answer
   */
  AnswerMapper.Mapped answer(@Nullable Answer part, Outcome outcome) {
    if (part == null) {
      throw Outcomes.failure(outcome);
    }
    return answers.map(v2.response(part, outcome, Map.of()));
  }

  @Override
  public void close() {
    v2.close();
  }
}
