package dev.roundhouse.engine.model;

import dev.roundhouse.engine.observe.InferenceTally;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * One request to a {@link ComposedModel}, and the calls that answer it. Calls have the request's
 * deadline and caller, and run ahead of what waits, one at a time. The first of these ends the run:
 * {@link #complete}, {@link #fail}, an unanswered call, or the caller's cancel. Open calls are then
 * cancelled, and the request ends with its last call: until then its inputs may be in use, and its
 * model is not freed. Answers to calls are kept until the run's own answer is closed, or it ends
 * without one. Thread-safe.
 */
public final class ComposedRun {
  private final QueuedRequest request;
  private final ComposedModel model;
  private final Accounting accounting;
  private final Function<InferenceRequest, Submission> submit;
  private final MetaRun lane = new MetaRun();
  private final ReentrantLock lock = new ReentrantLock();

  // Guarded by lock.
  private final List<Submission> calls = new ArrayList<>();

  private final List<Answer> answers = new ArrayList<>();

  /** Calls that have not ended, and the model's own {@code run} while it has not returned. */
  private int open = 1;

  private @Nullable End end;
  private boolean over;

  /** How the run ends: with an answer, or an outcome that says why there is none. */
  private sealed interface End {
    record Answered(List<OutputTensor> outputs) implements End {}

    record Unanswered(Outcome outcome) implements End {}
  }

  /**
   * @param request accepted, and taken
   * @param submit makes the calls
   */
  public ComposedRun(
      QueuedRequest request,
      ComposedModel model,
      Accounting accounting,
      Function<InferenceRequest, Submission> submit) {
    this.request = request;
    this.model = model;
    this.accounting = accounting;
    this.submit = submit;
  }

  /** Has the model begin; once, by whoever accepted the request. */
  public void begin() {
    try {
      model.run(this);
    } catch (Throwable e) {
      failBy(e);
    }
    leave();
  }

  /** In the order of the model's contract. Readable until the run ends. */
  public List<InputTensor> inputs() {
    return request.inputs();
  }

  /** As the caller made it. */
  public InferenceRequest request() {
    return request.request();
  }

  /**
   * Calls a model. A call that is not answered ends the run with its status; after the end of the
   * run nothing is called.
   *
   * @param inputs borrowed until the call has ended
   * @param then is shown the answer, on the thread that has it: must be brief, may close it early,
   *     and is not called after the end of the run
   */
  public void call(String name, List<InputTensor> inputs, Consumer<Answer> then) {
    lock.lock();
    try {
      if (end != null) {
        return;
      }
      open++;
    } finally {
      lock.unlock();
    }
    Submission call;
    try {
      call =
          submit.apply(
              InferenceRequest.of(name, inputs, new Call(name, then))
                  .id(request().id())
                  .deadlineNanos(request.deadlineNanos())
                  .caller(request().caller())
                  .run(lane)
                  .build());
    } catch (Throwable e) {
      failBy(e);
      leave();
      return;
    }
    boolean late;
    lock.lock();
    try {
      calls.add(call);
      late = end != null;
    } finally {
      lock.unlock();
    }
    if (late) {
      call.cancel();
    }
  }

  /**
   * Answers the request.
   *
   * @param outputs those requested, in the contract's order; in memory of calls' answers, or that
   *     stays for as long as somebody refers to it
   */
  public void complete(List<OutputTensor> outputs) {
    endBy(new End.Answered(outputs));
  }

  /** Ends the request without an answer. */
  public void fail(Status status, String message) {
    endBy(new End.Unanswered(new Outcome.Failed(status, message)));
  }

  /** The caller takes the request back; false when it is over already. */
  public boolean cancel() {
    lock.lock();
    try {
      if (over) {
        return false;
      }
    } finally {
      lock.unlock();
    }
    endBy(new End.Unanswered(Outcome.Cancelled.BY_CALLER));
    return true;
  }

  private void failBy(Throwable thrown) {
    fail(Status.INTERNAL, "model '%s' failed: %s".formatted(model.name(), thrown));
  }

  /** Decides how the run ends, if nothing has, and takes back what is still called. */
  private void endBy(End by) {
    List<Submission> left;
    lock.lock();
    try {
      if (end != null) {
        return;
      }
      end = by;
      left = List.copyOf(calls);
    } finally {
      lock.unlock();
    }
    left.forEach(Submission::cancel);
  }

  /** A call has ended, or the model's own part. */
  private void leave() {
    End last;
    lock.lock();
    try {
      open--;
      if (open > 0 || over) {
        return;
      }
      over = true;
      last = end;
    } finally {
      lock.unlock();
    }
    switch (last) {
      case null ->
          tell(
              new Outcome.Failed(
                  Status.INTERNAL, "model '%s' made no answer".formatted(model.name())));
      case End.Unanswered(Outcome outcome) -> tell(outcome);
      case End.Answered(List<OutputTensor> outputs) -> answer(outputs);
    }
  }

  private void tell(Outcome outcome) {
    answers.forEach(Answer::close);
    accounting.end(request, State.TAKEN, outcome);
  }

  private void answer(List<OutputTensor> outputs) {
    Answer answer =
        new ComposedAnswer(model.version(), outputs, answers, accounting, request.answerBytes());
    long now = accounting.nanoTime();
    long took = now - request.arrivalNanos();
    InferenceTally.Answered answered = new InferenceTally.Answered();
    answered.add(took, 0, 0, took, 0);
    accounting
        .ledger()
        .tally(model.counters())
        .add(request.rows(), request.arrivalNanos(), 0, took, 0, answered);
    accounting.complete(
        request,
        answer,
        new Outcome.Completed(
            model.version(),
            new Outcome.Timings(request.arrivalNanos(), now, 0, 0, took, 0, request.rows(), 0)));
  }

  /** What becomes of one call. */
  private final class Call implements AnswerSink {
    private final String name;
    private final Consumer<Answer> then;

    Call(String name, Consumer<Answer> then) {
      this.name = name;
      this.then = then;
    }

    @Override
    public void onPart(Answer part) {
      if (!keeps(part)) {
        part.close();
        return;
      }
      try {
        then.accept(part);
      } catch (Throwable e) {
        failBy(e);
      }
    }

    @Override
    public void onEnd(Outcome outcome) {
      switch (outcome) {
        case Outcome.Completed completed -> {}
        case Outcome.Refused refused -> unanswered(refused.status(), refused.message());
        case Outcome.Failed failed -> unanswered(failed.status(), failed.message());
        case Outcome.Shed shed -> unanswered(shed.status(), shed.message());
        case Outcome.Cancelled cancelled -> unanswered(Status.UNAVAILABLE, cancelled.message());
      }
      leave();
    }

    private void unanswered(Status status, String message) {
      fail(status, "model '%s', which model '%s' calls: %s".formatted(name, model.name(), message));
    }
  }

  /** Keeps an answer; false when the run has ended, or is about to. */
  private boolean keeps(Answer answer) {
    lock.lock();
    try {
      return end == null && answers.add(answer);
    } finally {
      lock.unlock();
    }
  }
}
