package dev.roundhouse.engine.request;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;

/**
 * One inference: what the caller sent, and where it is on its way.
 *
 * <p>What the caller sent never changes. {@link #state} moves forward only; whoever moves it to
 * {@link State#DONE} delivers the outcome, so there is exactly one. {@code rows} and {@code
 * variant} are written by admission before the request is handed to the dispatch thread.
 */
public final class InferenceRequest {

  /** No deadline. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  /** Life cycle; a request never goes back. */
  public enum State {
    /** Made by a transport, not yet admitted. */
    NEW,
    /** Accepted: counted, and waiting to run. Can still be cancelled at no cost to others. */
    QUEUED,
    /** In a batch that is being assembled or executed. */
    RUNNING,
    /** The outcome has been delivered. */
    DONE
  }

  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(InferenceRequest.class, "state", State.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final String modelName;
  private final String modelVersion;
  private final String id;
  private final List<InputTensor> inputs;
  private final List<String> requestedOutputs;
  private final long deadlineNanos;
  private final Completion completion;

  @SuppressWarnings("FieldMayBeFinal") // written through STATE
  private volatile State state = State.NEW;

  private Admitted admitted = Admitted.NOT_YET;
  private long arrivalNanos;

  /**
   * @param modelVersion empty for the one that is served
   * @param id echoed, empty for none
   * @param requestedOutputs empty for all
   * @param deadlineNanos on the engine's clock, or {@link #NO_DEADLINE}
   */
  public InferenceRequest(
      String modelName,
      String modelVersion,
      String id,
      List<InputTensor> inputs,
      List<String> requestedOutputs,
      long deadlineNanos,
      Completion completion) {
    this.modelName = modelName;
    this.modelVersion = modelVersion;
    this.id = id;
    this.inputs = inputs;
    this.requestedOutputs = requestedOutputs;
    this.deadlineNanos = deadlineNanos;
    this.completion = completion;
  }

  public String modelName() {
    return modelName;
  }

  public String modelVersion() {
    return modelVersion;
  }

  public String id() {
    return id;
  }

  public List<InputTensor> inputs() {
    return inputs;
  }

  public List<String> requestedOutputs() {
    return requestedOutputs;
  }

  /** On the engine's clock; {@link #NO_DEADLINE} when there is none. */
  public long deadlineNanos() {
    return deadlineNanos;
  }

  public State state() {
    return state;
  }

  /** What admission found out; meaningful from acceptance on. */
  public Admitted admitted() {
    return admitted;
  }

  /** When the request was accepted, on the engine's clock. */
  public long arrivalNanos() {
    return arrivalNanos;
  }

  /** Accepts the request. Called by the engine, once, before the request is queued. */
  public void admit(Admitted found, long nowNanos) {
    admitted = found;
    arrivalNanos = nowNanos;
    STATE.setRelease(this, State.QUEUED);
  }

  /** Claims a queued request for a batch; false when it was cancelled meanwhile. */
  public boolean start() {
    return STATE.compareAndSet(this, State.QUEUED, State.RUNNING);
  }

  /**
   * Moves the request to its end if it is in {@code expected}. Whoever gets true owes the caller
   * {@link #deliver}.
   *
   * @return false when somebody else moved it first
   */
  public boolean end(State expected) {
    return STATE.compareAndSet(this, expected, State.DONE);
  }

  /** Hands the outcome to the caller; only after {@link #end} returned true, once. */
  public void deliver(Outcome outcome) {
    completion.onOutcome(this, outcome);
  }
}
