package dev.roundhouse.engine.request;

import org.jspecify.annotations.Nullable;

/** Tells another sink all that it is told; for those that change or note some of it. */
public abstract class ForwardingSink implements AnswerSink {
  private final AnswerSink sink;

  protected ForwardingSink(AnswerSink sink) {
    this.sink = sink;
  }

  /** Who is told. */
  protected final AnswerSink sink() {
    return sink;
  }

  @Override
  public @Nullable String onManyParts() {
    return sink.onManyParts();
  }

  @Override
  public void onCall(CallReport call) {
    sink.onCall(call);
  }

  @Override
  public void onPart(Answer part) {
    sink.onPart(part);
  }

  @Override
  public void onEnd(Outcome outcome) {
    sink.onEnd(outcome);
  }
}
