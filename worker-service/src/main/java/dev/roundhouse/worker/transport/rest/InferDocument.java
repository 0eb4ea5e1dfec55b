package dev.roundhouse.worker.transport.rest;

import dev.roundhouse.kserve.codec.ReadMessage;
import java.util.Map;

/**
 * An inference request as it came over HTTP: what every transport makes of one, and how its answer
 * is wanted.
 *
 * @param sharesBody true when tensors lie in the body's memory
 */
record InferDocument(ReadMessage message, OutputForms forms, boolean sharesBody) {

  /**
   * Which outputs are answered as binary tensors.
   *
   * @param byDefault what holds for outputs that say nothing of it
   * @param byName what was said of single outputs
   */
  record OutputForms(boolean byDefault, Map<String, Boolean> byName) {
    static final OutputForms ALL_BINARY = new OutputForms(true, Map.of());

    boolean isBinary(String output) {
      return byName.getOrDefault(output, byDefault);
    }
  }
}
