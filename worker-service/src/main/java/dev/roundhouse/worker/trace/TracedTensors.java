package dev.roundhouse.worker.trace;

import java.util.List;

/**
 * What a trace has of its request's tensors.
 *
 * @param inputs as they came
 * @param outputs as they are answered; none of a request that failed
 */
record TracedTensors(List<TracedTensor> inputs, List<TracedTensor> outputs) {
  static final TracedTensors NONE = new TracedTensors(List.of(), List.of());

  /** Of the copies. */
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
