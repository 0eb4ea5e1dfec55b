package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.request.InferenceRequest;
import java.util.List;

/**
 * Requests that run together, and the execution that runs them. Owned by the dispatch thread.
 *
 * @param rows of the requests, without padding
 * @param assembledNanos when the requests left their queue
 * @param startedNanos when the execution was handed to the device
 */
record Batch(
    ModelLane lane,
    PreparedProgram program,
    List<InferenceRequest> requests,
    int rows,
    Execution execution,
    long assembledNanos,
    long startedNanos) {

  int paddingRows() {
    return program.batchSize() - rows;
  }
}
