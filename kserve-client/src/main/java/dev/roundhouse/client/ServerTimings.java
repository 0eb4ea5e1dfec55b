package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.InferParameter;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

/**
 * Time spent in the server, as it reports.
 *
 * @param total from arrival to answer
 * @param batchRows of its batch, other requests' rows included
 * @param paddingRows added to the batch
 */
public record ServerTimings(
    Duration total,
    Duration queue,
    Duration computeInput,
    Duration computeInfer,
    Duration computeOutput,
    long batchRows,
    long paddingRows) {

  static Optional<ServerTimings> of(Map<String, InferParameter> parameters) {
    if (!parameters.containsKey("roundhouse_total_ns")) {
      return Optional.empty();
    }
    return Optional.of(
        new ServerTimings(
            nanos(parameters, "roundhouse_total_ns"),
            nanos(parameters, "roundhouse_queue_ns"),
            nanos(parameters, "roundhouse_compute_input_ns"),
            nanos(parameters, "roundhouse_compute_infer_ns"),
            nanos(parameters, "roundhouse_compute_output_ns"),
            Parameters.number(parameters, "roundhouse_batch_rows", 0),
            Parameters.number(parameters, "roundhouse_padding_rows", 0)));
  }

  private static Duration nanos(Map<String, InferParameter> parameters, String name) {
    return Duration.ofNanos(Parameters.number(parameters, name, 0));
  }
}
