package dev.roundhouse.worker.transport.text;

import dev.roundhouse.bundle.model.TextTask;
import dev.roundhouse.kserve.codec.ParameterValue;
import java.io.OutputStream;
import java.util.Map;

/** A request that has been read, in the shape of one route. For one thread. */
interface TextRequest {
  /** The model's name. */
  String model();

  /** What the model must do. */
  TextTask.Kind kind();

  /** As those of a request under {@code /v2}. */
  Map<String, ParameterValue> parameters();

  /** How many rows there are. */
  int rows();

  /**
   * A text of the model.
   *
   * @param input of the task's, by its place
   */
  byte[] text(int input, int row);

  /**
   * Refuses what the model does not do.
   *
   * @throws dev.roundhouse.kserve.status.WireException naming it
   */
  void require(TextTask task);

  /** Writes the answer; closes nothing. */
  void write(TextResults results, OutputStream out);
}
