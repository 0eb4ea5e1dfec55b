package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.request.InferenceRequest;

/**
 * Rows of one request in a batch: all of them, or a piece when the request has more rows than the
 * largest program takes. Pieces of a request run in order.
 *
 * @param answer where its outputs are gathered
 */
record Slice(InferenceRequest request, int firstRow, int rows, Answer answer) {

  boolean isFirst() {
    return firstRow == 0;
  }

  boolean isLast() {
    return firstRow + rows == request.admitted().rows();
  }
}
