package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;

/**
 * What the messages of a stream are for.
 *
 * @param asked by the client
 * @param made the files that the spec was made from: others serve once this is not the same object
 * @param generation another after each replacement
 * @param spec of each message and each result
 * @param mostTogether messages that may be one request, their rows one after the other; 1 where the
 *     model has no rows, or what it answers depends on who else asks
 */
record StreamTarget(
    ClientHello asked, ModelSpec made, long generation, StreamSpec spec, int mostTogether) {

  String model() {
    return asked.model();
  }

  /** That was asked for; empty for the one that is served. */
  String version() {
    return asked.version();
  }

  /** Of an input of so many messages in one request. */
  static Shape shape(StreamTensor tensor, int messages) {
    if (messages == 1) {
      return tensor.shape();
    }
    long[] dims = tensor.shape().dims();
    dims[0] *= messages;
    return Shape.of(dims);
  }
}
