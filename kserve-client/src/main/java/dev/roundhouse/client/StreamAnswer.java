package dev.roundhouse.client;

/** A stream's answer to one of its requests. */
public sealed interface StreamAnswer {
  /** Of the request; empty when it had none. */
  String id();

  /** An answer to the request; some models send several. */
  record Answered(InferResult result) implements StreamAnswer {
    @Override
    public String id() {
      return result.id();
    }
  }

  /** The request was refused or failed; the stream goes on. */
  record Failed(String id, String message) implements StreamAnswer {}
}
