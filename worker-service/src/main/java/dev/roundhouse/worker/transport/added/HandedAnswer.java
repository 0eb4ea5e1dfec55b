package dev.roundhouse.worker.transport.added;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.platform.text.ClientText;
import org.jspecify.annotations.Nullable;

/**
 * Hands a request's answer from whichever thread of the engine has it to the transport's own. Its
 * texts are those that clients may read.
 */
final class HandedAnswer implements AnswerSink {
  private final CountedConnection connection;
  private final AnswerSink sink;
  private final AnswerThread thread;
  private final ClientText texts;
  private volatile @Nullable Submission submission;

  HandedAnswer(
      CountedConnection connection, AnswerSink sink, AnswerThread thread, ClientText texts) {
    this.connection = connection;
    this.sink = sink;
    this.thread = thread;
    this.texts = texts;
  }

  void submitted(Submission made) {
    submission = made;
  }

  void cancel() {
    Submission made = submission;
    if (made != null) {
      made.cancel();
    }
  }

  @Override
  public @Nullable String onManyParts() {
    return sink.onManyParts();
  }

  @Override
  public void onCall(CallReport call) {
    thread.add(() -> sink.onCall(call));
  }

  @Override
  public void onPart(Answer part) {
    thread.add(
        () -> {
          boolean taken = false;
          try {
            sink.onPart(part);
            taken = true;
          } finally {
            if (!taken) {
              part.close();
            }
          }
        });
  }

  @Override
  public void onEnd(Outcome outcome) {
    thread.add(
        () -> {
          connection.ended(this);
          sink.onEnd(told(outcome));
        });
  }

  private Outcome told(Outcome outcome) {
    return switch (outcome) {
      case Outcome.Completed completed -> completed;
      case Outcome.Cancelled(String text) -> new Outcome.Cancelled(texts.of(text));
      case Outcome.Refused refused ->
          new Outcome.Refused(refused.status(), texts.of(refused.message()));
      case Outcome.Failed failed ->
          new Outcome.Failed(failed.status(), texts.of(failed.message()), failed.began());
      case Outcome.Shed shed ->
          new Outcome.Shed(shed.reason(), shed.status(), texts.of(shed.message()));
    };
  }
}
