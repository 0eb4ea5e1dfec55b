package dev.roundhouse.worker.trace;

import java.util.List;

/**
 * The tensors of a traced request.
 *
 * @param inputs as they arrived
 * @param outputs as they are answered; none for a failed request
 */
record TracedTensors(List<TracedTensor> inputs, List<TracedTensor> outputs) {
  static final TracedTensors NONE = new TracedTensors(List.of(), List.of());

  /** Bytes of the copies. */
  long byteSize() {
    return byteSize(inputs) + byteSize(outputs);
  }

  private static long byteSize(List<TracedTensor> tensors) {
    long bytes = 0;
    for (TracedTensor tensor : tensors) {
      bytes += tensor.bytes().length;
    }
    return bytes;
  }
}
