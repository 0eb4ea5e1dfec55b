package dev.roundhouse.engine.request;

import dev.roundhouse.bundle.model.TensorSpec;
import dev.roundhouse.bundle.model.Variant;
import java.util.List;

/**
 * What a caller makes of outputs before it sends them, and how much memory that takes. Called on
 * the submitting thread.
 */
@FunctionalInterface
public interface AnswerForm {
  /** Outputs are sent as they are. */
  AnswerForm AS_IS = (outputs, variant, rows) -> 0;

  /**
   * Bytes needed beside the outputs themselves, counted with them until the {@link Answer} is
   * closed.
   *
   * @param outputs all that the model has; those requested are among them
   * @param rows along the batch axis; 1 for a model without one
   * @throws IllegalArgumentException when an output has no such form: the request is refused with
   *     its text
   */
  long extraBytes(List<TensorSpec> outputs, Variant variant, int rows);

  /**
   * Takes note of the version that answers, before it can.
   *
   * @param outputs all that it has
   */
  default void answeredBy(List<TensorSpec> outputs) {}
}
