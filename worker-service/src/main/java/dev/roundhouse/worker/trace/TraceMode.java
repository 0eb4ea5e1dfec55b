package dev.roundhouse.worker.trace;

/** What becomes of the requests that a {@link TraceSetting} takes. */
enum TraceMode {
  /** They are written to files. */
  TRITON("triton"),

  /** They have spans, as the others have whose callers ask for them. */
  OPENTELEMETRY("opentelemetry");

  private final String text;

  TraceMode(String text) {
    this.text = text;
  }

  /** As clients have it. */
  String text() {
    return text;
  }
}
