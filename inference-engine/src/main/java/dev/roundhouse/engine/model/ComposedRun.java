package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.request.RequestOptions;
import dev.roundhouse.engine.observe.InferenceTally;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.CountedAnswer;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.queue.ReceiptNotes;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.CallReport;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.MetaRun;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.request.Submission;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One request to a {@link ComposedModel}, and the calls that answer it. Thread-safe.
 *
 * <p><b>The model's code</b> ({@link RunCode}), {@link ComposedModel#run} and what it gives {@link
 * #call}, is run by an executor of the embedding application, one piece at a time and in order;
 * never by a thread of the engine or of a transport. A piece that the executor refuses ends the run
 * with RESOURCE_EXHAUSTED.
 *
 * <p><b>Calls</b> run ahead of what waits, one at a time. They have the request's id, deadline,
 * caller and {@linkplain RequestOptions#ofCalls options}: priority, queue timeout, trace and
 * parameters, but neither its sequence nor its wish for timings.
 *
 * <p><b>The end.</b> The first of these ends the run: {@link #complete}, {@link #fail}, an
 * exception, an unanswered call, or the caller's cancel. Open calls are then cancelled, code that
 * has not begun is dropped, and the request ends with its last call and piece of code: until then
 * its inputs may be in use, and its model is not freed. Answers to calls are kept until the run's
 * own answer is closed, or it ends without one.
 */
public final class ComposedRun {
  private final QueuedRequest request;
  private final ComposedModel model;
  private final Accounting accounting;
  private final BiFunction<InferenceRequest, @Nullable Servable, Submission> submit;
  private final long mostAnswerBytes;
  private final RequestOptions callOptions;
  private final MetaRun lane = new MetaRun();
  private final ReentrantLock lock = new ReentrantLock();
  private final RunParts parts = new RunParts(lock);
  private final RunCode code;
  private final RunWeights weights;

  // Guarded by lock.
  private final List<Submission> calls = new ArrayList<>();

  private final List<Answer> answers = new ArrayList<>();
  private final List<Runnable> kept = new ArrayList<>();

  /** Calls that have not ended, and pieces of code that have not been run. */
  private int open;

  private @Nullable End end;
  private boolean over;

  /** With copies of those that others could change; null for the request's own. */
  private volatile @Nullable List<InputTensor> inputs;

  /** How the run ends: with an answer, or an outcome that says why there is none. */
  private sealed interface End {
    /**
     * @param outputs none when all of the answer went out in parts
     * @param openBytes counted when the answer was made, beside what admission did
     */
    record Answered(List<OutputTensor> outputs, long openBytes) implements End {}

    record Unanswered(Outcome outcome) implements End {}
  }

  /**
   * @param request accepted, and taken, before {@link #begin}
   * @param submit makes the calls: of a name or, where one is given, of that very version
   * @param userCode runs the model's code, as the model has it
   * @param bringAhead brings weights that are held, when there is room for them
   * @param mostAnswerBytes of an answer whose size was not known when the request was accepted
   */
  public ComposedRun(
      QueuedRequest request,
      ComposedModel model,
      Accounting accounting,
      BiFunction<InferenceRequest, @Nullable Servable, Submission> submit,
      Executor userCode,
      Consumer<ProgramModel> bringAhead,
      long mostAnswerBytes) {
    weights = new RunWeights(bringAhead);
    this.request = request;
    this.model = model;
    this.accounting = accounting;
    this.submit = submit;
    code = new RunCode(this, model, userCode, lock);
    this.mostAnswerBytes = mostAnswerBytes;
    callOptions = request.request().options().ofCalls();
  }

  /** Begins to run the model's code; once, by whoever accepted the request. */
  public void begin() {
    if (model.runsWhereItIsCalled()) {
      beginHere();
      return;
    }
    run(
        null,
        () -> {
          List<InputTensor> given = request.inputs();
          try {
            inputs = OwnedStrings.of(model.name(), given);
          } catch (RefusedException e) {
            fail(e.status(), e.getMessage());
            return;
          }
          model.run(this);
        });
  }

  private void beginHere() {
    lock.lock();
    try {
      if (end != null) {
        return;
      }
      open++;
    } finally {
      lock.unlock();
    }
    try {
      model.run(this);
    } catch (Throwable e) {
      failBy(e);
    } finally {
      leave();
    }
  }

  /**
   * In the order of the model's contract. Readable until the run ends. Those of BYTES are {@link
   * dev.roundhouse.engine.request.TensorData.Contiguous} and hold whole elements.
   */
  public List<InputTensor> inputs() {
    List<InputTensor> own = inputs;
    return own == null ? request.inputs() : own;
  }

  /** Along the batch axis; 1 for a contract without one. */
  public int rows() {
    return request.rows();
  }

  /** As the caller made it. */
  public InferenceRequest request() {
    return request.request();
  }

  /** True once nothing that its code does matters any more. */
  public boolean isEnded() {
    lock.lock();
    try {
      return end != null;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Has something done when the run's own answer is closed, or it ends without one; at once when it
   * is over.
   */
  public void keep(Runnable release) {
    lock.lock();
    try {
      if (!over) {
        kept.add(release);
        return;
      }
    } finally {
      lock.unlock();
    }
    release.run();
  }

  /**
   * Keeps what a version needs on the device until the run ends, or {@link #releaseWeights}; and
   * has it brought there when it is not.
   */
  public void holdWeights(Servable version) {
    weights.hold(version);
  }

  /** It makes no further calls, as far as it knows. */
  public void releaseWeights() {
    weights.release();
  }

  /**
   * Calls a model. A call that is not answered ends the run with its status; after the end of the
   * run nothing is called.
   *
   * @param inputs borrowed until the call has ended
   * @param then is shown the answer, which it may close early; not called after the end of the run
   */
  public void call(String name, List<InputTensor> inputs, Consumer<Answer> then) {
    var unused =
        call(null, InferenceRequest.of(name, inputs, new RunCall(this, name, then)).run(lane));
  }

  /**
   * Calls programs of the model's own, all outputs, which wait as if the caller had called them. As
   * {@link #call} otherwise, but for inputs that do not fit: they are the model's fault.
   */
  public void callOwn(ProgramModel programs, List<InputTensor> inputs, Consumer<Answer> then) {
    MetaRun callers = request().run();
    var unused =
        call(
            programs,
            InferenceRequest.of(programs.name(), inputs, new RunCall.OfOwn(this, then))
                .run(callers == null ? MetaRun.behindOthers() : callers));
  }

  /**
   * Calls one version, as {@link #call}; but what becomes of the call is told at once, by the
   * thread that ends it, and whether it ends the run is for who is told. Nothing is told after the
   * end of the run but that the call was not answered.
   *
   * @param outputs those wanted; all when empty
   * @param handedOn of them, those that may stay on the device, as others may not read them
   * @param answered is shown the answer, kept as long as the run's own
   * @param unanswered is told why
   */
  public void callFor(
      Servable target,
      List<InputTensor> inputs,
      List<String> outputs,
      List<String> handedOn,
      Consumer<Answer> answered,
      BiConsumer<Status, String> unanswered) {
    boolean called =
        call(
            target,
            InferenceRequest.of(
                    target.name(),
                    inputs,
                    new RunCall.Told(this, target.name(), answered, unanswered))
                .outputs(outputs)
                .handOn(handedOn)
                .run(lane));
    if (!called) {
      unanswered.accept(Status.CANCELLED, "the request is over");
    }
  }

  /**
   * Calls one version, as {@link #call}, and shows the answer, kept as long as the run's own, to
   * the thread that ends the call; before the run can end for want of calls.
   *
   * @param handedOn of the outputs, those that nobody reads but other calls of this run
   */
  void callStep(
      Servable target,
      List<InputTensor> inputs,
      List<String> outputs,
      List<String> handedOn,
      Consumer<Answer> answered) {
    var unused =
        call(
            target,
            InferenceRequest.of(
                    target.name(), inputs, new RunCall.OfStep(this, target.name(), answered))
                .outputs(outputs)
                .handOn(handedOn)
                .run(lane));
  }

  /** False, calling nothing, after the end of the run. */
  private boolean call(@Nullable Servable target, InferenceRequest.Builder request) {
    lock.lock();
    try {
      if (end != null) {
        return false;
      }
      open++;
    } finally {
      lock.unlock();
    }
    Submission call;
    try {
      call =
          submit.apply(
              request
                  .id(request().id())
                  .deadlineNanos(this.request.deadlineNanos())
                  .options(callOptions)
                  .caller(request().caller())
                  .tenant(request().tenant())
                  .build(),
              target);
    } catch (Throwable e) {
      failBy(e);
      leave();
      return false;
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
    return true;
  }

  /**
   * Answers the request. What does not keep to the model's contract fails it (INTERNAL), as does an
   * answer for which there is no memory (RESOURCE_EXHAUSTED) or that is larger than one may be
   * (INVALID_ARGUMENT).
   *
   * @param outputs those requested, in any order; others of the contract are left out. Native or of
   *     byte arrays, in memory of calls' answers, or that stays for as long as somebody refers to
   *     it
   * @return what does not keep to the contract; null when nothing is wrong
   */
  public @Nullable String complete(List<OutputTensor> outputs) {
    List<OutputTensor> checked;
    try {
      checked = check(outputs);
    } catch (RefusedException e) {
      fail(e.status(), e.getMessage());
      return e.getMessage();
    }
    completeChecked(checked);
    return null;
  }

  private void completeChecked(List<OutputTensor> checked) {
    long openBytes;
    try {
      openBytes =
          OpenBytes.take(model.contract(), request, checked, accounting.bytes(), mostAnswerBytes);
    } catch (RefusedException e) {
      fail(e.status(), e.getMessage());
      return;
    }
    if (!endBy(new End.Answered(checked, openBytes))) {
      accounting.bytes().giveBack(openBytes);
    }
  }

  /**
   * Hands a part of the answer out, of a decoupled model. Waits while the caller has not read those
   * before it, {@link RunParts#MOST} or {@link RunParts#MOST_BYTES} at most.
   *
   * @param outputs as those of {@link #complete}, with any number of rows; on the heap
   * @param release run once: when the receiver has closed the part, or this throws
   * @throws RefusedException when it does not keep to the contract, or is too large
   * @throws CancellationException when the run has ended
   */
  public void part(List<OutputTensor> outputs, Runnable release)
      throws RefusedException, InterruptedException {
    boolean given = false;
    try {
      List<OutputTensor> checked = check(outputs);
      long size = 0;
      for (OutputTensor output : checked) {
        size += output.data().byteSize();
      }
      OpenBytes.requireFits(model.contract(), request, size, mostAnswerBytes);
      Answer part = parts.part(model.version(), checked, size, release);
      lock.lock();
      try {
        if (!parts.take(size, () -> end != null)) {
          throw new CancellationException("the request is over; nobody reads another part");
        }
        open++; // the request does not end while its receiver takes the part
      } finally {
        lock.unlock();
      }
      given = true;
      try {
        accounting.part(request, part);
      } finally {
        leave();
      }
    } finally {
      if (!given) {
        release.run();
      }
    }
  }

  /** Ends the answer of a decoupled model with the part that went out last, or without any. */
  public void completeParts() {
    var unused = endBy(new End.Answered(List.of(), 0));
  }

  private List<OutputTensor> check(List<OutputTensor> outputs) throws RefusedException {
    return AnswerCheck.check(
        model.contract(), request.rows(), request.outputs(), List.copyOf(outputs));
  }

  /** Ends the request without an answer. */
  public void fail(Status status, String message) {
    endBy(new Outcome.Failed(status, message));
  }

  /**
   * Ends the request now, although a piece of its code may not have returned: nothing waits for
   * that any more. Only when that piece can reach none of the run's memory.
   */
  public void abandon(Status status, String message) {
    fail(status, message);
    lock.lock();
    try {
      if (!code.abandon()) {
        return;
      }
    } finally {
      lock.unlock();
    }
    leave();
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
    endBy(Outcome.Cancelled.BY_CALLER);
    return true;
  }

  void failBy(Throwable thrown) {
    endBy(failure(thrown));
  }

  private Outcome.Failed failure(Throwable thrown) {
    String text;
    try {
      text = thrown.toString();
    } catch (Throwable e) {
      text = thrown.getClass().getName(); // its text is made by the model's code too
    }
    return new Outcome.Failed(
        Status.INTERNAL, "model '%s' failed: %s".formatted(model.name(), text));
  }

  void endBy(Outcome outcome) {
    var unused = endBy(new End.Unanswered(outcome));
  }

  /**
   * Decides how the run ends; cancels its calls and drops its code.
   *
   * @return false, doing nothing, when that is decided
   */
  private boolean endBy(End by) {
    List<Submission> left;
    lock.lock();
    try {
      if (end != null) {
        return false;
      }
      left = List.copyOf(calls);
      end = by;
      parts.end();
      open -= code.drop();
      open++; // this
    } finally {
      lock.unlock();
    }
    try {
      weights.end();
      left.forEach(Submission::cancel);
    } finally {
      leave();
    }
    return true;
  }

  /**
   * Queues a piece of the model's code.
   *
   * @param shows the answer that it is shown, kept from now on; null for none
   * @return false, doing nothing, when the run has ended or is about to
   */
  private boolean run(@Nullable Answer shows, Runnable piece) {
    boolean starts;
    lock.lock();
    try {
      if (end != null) {
        return false;
      }
      starts = code.add(piece);
      open++;
      if (shows != null) {
        answers.add(shows);
      }
    } finally {
      lock.unlock();
    }
    if (starts) {
      code.start();
    }
    return true;
  }

  // --- the end

  /** A call has ended, or a piece of code. */
  void leave() {
    End last;
    lock.lock();
    try {
      open--;
      if (open > 0 || over) {
        return;
      }
      over = true;
      inputs = null;
      last = end;
    } finally {
      lock.unlock();
    }
    weights.end();
    answers.forEach(Answer::freeHanded);
    switch (last) {
      case null ->
          tell(
              new Outcome.Failed(
                  Status.INTERNAL, "model '%s' made no answer".formatted(model.name())));
      case End.Unanswered(Outcome outcome) -> tell(outcome);
      case End.Answered answered -> answer(answered.outputs(), answered.openBytes());
    }
  }

  /** Gives back the answers to its calls, with what was counted for them, and what was kept. */
  private void release() {
    try {
      answers.forEach(Answer::close);
    } finally {
      kept.forEach(Runnable::run);
    }
  }

  private void tell(Outcome outcome) {
    try {
      release();
    } finally {
      accounting.end(request, State.TAKEN, outcome);
    }
  }

  private void answer(List<OutputTensor> outputs, long openBytes) {
    @Nullable Answer answer;
    Outcome.Completed outcome;
    try {
      answer =
          outputs.isEmpty()
              ? null
              : new CountedAnswer(
                  model.version(),
                  outputs,
                  this::release,
                  accounting.bytes(),
                  request.answerBytes() + openBytes);
      outcome = completed();
    } catch (Throwable e) {
      accounting.bytes().giveBack(openBytes);
      tell(failure(e));
      return;
    }
    if (answer == null) {
      release();
      var unused = accounting.completeParts(request, outcome);
    } else if (!accounting.complete(request, answer, outcome)) {
      accounting.bytes().giveBack(openBytes);
    }
  }

  private Outcome.Completed completed() {
    long now = accounting.nanoTime();
    long took = now - request.arrivalNanos();
    ReceiptNotes notes = request.notes();
    InferenceTally.Answered answered = new InferenceTally.Answered(1);
    answered.add(took, 0, 0, took, 0);
    accounting
        .ledger()
        .tally(model.counters())
        .add(request.rows(), request.arrivalNanos(), 0, took, 0, answered);
    return new Outcome.Completed(
        model.version(),
        new Outcome.Timings(request.arrivalNanos(), now, 0, 0, took, 0, request.rows(), 0),
        notes == null ? null : notes.receipt(0));
  }

  // --- for calls

  /** Shows an answer to a piece of the model's code, and keeps it; false when the run has ended. */
  boolean show(Answer answer, Consumer<Answer> code) {
    return run(answer, () -> code.accept(answer));
  }

  /** Keeps an answer and tells of it at once; false when the run has ended. */
  boolean keep(Answer answer, Consumer<Answer> told) {
    lock.lock();
    try {
      if (end != null) {
        return false;
      }
      answers.add(answer);
      told.accept(answer);
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** True when somebody is told of each call. */
  boolean reportsCalls() {
    return callOptions.traced() || callOptions.wantsReceipt();
  }

  long nanoTime() {
    return accounting.nanoTime();
  }

  /** Tells of a call of this run. */
  void report(CallReport call) {
    ReceiptNotes notes = request.notes();
    if (notes != null) {
      notes.called(call);
    }
    passOn(call);
  }

  /** Tells whoever traces the request of a call, be it of a run that this one called. */
  void passOn(CallReport call) {
    if (callOptions.traced()) {
      request().sink().onCall(call);
    }
  }

  /** A call has ended. */
  void callEnded() {
    leave();
  }

  String modelName() {
    return model.name();
  }
}
