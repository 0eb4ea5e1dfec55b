package dev.roundhouse.client;

/** What a stream told of one of its requests. */
public sealed interface StreamAnswer {
  /** Of the request; empty when it had none. */
  String id();

  /** The request was answered, or with models that answer many times, answered once more. */
  record Answered(InferResult result) implements StreamAnswer {
    @Override
    public String id() {
      return result.id();
    }
  }

  /** The request was refused or failed; the stream goes on. */
  record Failed(String id, String message) implements StreamAnswer {}
}
