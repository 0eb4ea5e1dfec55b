package dev.roundhouse.platform.payload;

import java.time.Instant;

/**
 * A request or an answer on its way to the collector.
 *
 * @param id the same for a request and its answer; the body's own, if it has one, is sent in its
 *     place
 */
public record PayloadEvent(Type type, String id, Instant time, PayloadBody body) {

  /** KServe's types. */
  public enum Type {
    REQUEST("org.kubeflow.serving.inference.request"),
    RESPONSE("org.kubeflow.serving.inference.response");

    private final String text;

    Type(String text) {
      this.text = text;
    }

    String text() {
      return text;
    }
  }

  /** What it is counted with while it waits, beside its body. */
  static final long OWN_BYTES = 512;

  long heldBytes() {
    return OWN_BYTES + body.heldBytes();
  }
}
