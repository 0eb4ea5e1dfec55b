package dev.roundhouse.engine.model;

import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.Status;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What becomes of one call of a run: its answer is shown to the model's code. */
class RunCall implements AnswerSink {
  final ComposedRun run;
  private final String name;
  private final Consumer<Answer> then;
  private final long startNanos;

  /**
   * @param name of the called model
   * @param then the model's code
   */
  RunCall(ComposedRun run, String name, Consumer<Answer> then) {
    this.run = run;
    this.name = name;
    this.then = then;
    startNanos = run.reportsCalls() ? run.nanoTime() : 0;
  }

  @Override
  public void onPart(Answer part) {
    if (!run.show(part, then)) {
      part.close();
    }
  }

  @Override
  public final void onCall(CallReport call) {
    run.passOn(call);
  }

  @Override
  public final void onEnd(Outcome outcome) {
    try {
      if (run.reportsCalls()) {
        run.report(new CallReport(name, outcome, startNanos, run.nanoTime()));
      }
      switch (outcome) {
        case Outcome.Completed completed -> completed();
        case Outcome.Refused refused -> unanswered(refused.status(), refused.message());
        case Outcome.Failed failed -> unanswered(failed.status(), failed.message());
        case Outcome.Shed shed -> unanswered(shed.status(), shed.message());
        case Outcome.Cancelled cancelled -> unanswered(Status.UNAVAILABLE, cancelled.message());
      }
    } finally {
      run.callEnded();
    }
  }

  /** It has been answered. */
  void completed() {}

  /** Ends the run. */
  void unanswered(Status status, String message) {
    run.fail(
        status, "model '%s', which model '%s' calls: %s".formatted(name, run.modelName(), message));
  }

  /** A call that does not end the run by itself. */
  static final class Told extends RunCall {
    private final Consumer<Answer> answered;
    private final BiConsumer<Status, String> told;

    Told(ComposedRun run, String name, Consumer<Answer> answered, BiConsumer<Status, String> told) {
      super(run, name, answer -> {});
      this.answered = answered;
      this.told = told;
    }

    @Override
    public void onPart(Answer part) {
      if (!run.keep(part, answered)) {
        part.close();
        told.accept(Status.CANCELLED, "the request is over");
      }
    }

    @Override
    void unanswered(Status status, String message) {
      told.accept(status, message);
    }
  }

  /** A call of an ensemble: what follows is called by the thread that ends it. */
  static final class OfStep extends RunCall {
    private final Consumer<Answer> answered;
    private @Nullable Answer answer;

    OfStep(ComposedRun run, String name, Consumer<Answer> answered) {
      super(run, name, shown -> {});
      this.answered = answered;
    }

    @Override
    public void onPart(Answer part) {
      if (!run.keep(part, kept -> answer = kept)) {
        part.close();
      }
    }

    @Override
    void completed() {
      Answer made = answer;
      if (made == null) {
        return; // the run has ended
      }
      try {
        answered.accept(made);
      } catch (Throwable e) {
        run.failBy(e);
      }
    }
  }

  /** A call of the model's own programs. */
  static final class OfOwn extends RunCall {
    OfOwn(ComposedRun run, Consumer<Answer> then) {
      super(run, run.modelName(), then);
    }

    @Override
    void unanswered(Status status, String message) {
      if (status == Status.INVALID_ARGUMENT) {
        run.fail(
            Status.INTERNAL,
            "what preprocess of model '%s' made does not fit its programs: %s"
                .formatted(run.modelName(), message));
      } else {
        run.fail(status, message);
      }
    }
  }
}
