package dev.roundhouse.engine.request;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One inference: what the caller sent, and where it is on its way.
 *
 * <p>{@link #state} moves forward only; whoever moves it to {@link State#DONE} delivers the
 * outcome, so there is exactly one. What admission found is written before the request is handed to
 * the dispatch thread, which from then on is the only one to read it.
 */
public final class InferenceRequest {

  /** No deadline. */
  public static final long NO_DEADLINE = Long.MAX_VALUE;

  /** Life cycle; a request never goes back. */
  public enum State {
    /** Made by a transport, not yet admitted. */
    NEW,
    /** Accepted: counted, and waiting to run. Cancelled at once, at no cost to others. */
    QUEUED,
    /** In a batch that is being assembled or executed; its inputs may be in use. */
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
  private final List<String> requestedOutputs;
  private final long deadlineNanos;
  private final Completion completion;
  private final @Nullable MetaRun run;

  @SuppressWarnings("FieldMayBeFinal") // written through STATE
  private volatile State state = State.NEW;

  private volatile boolean cancelRequested;
  private List<InputTensor> inputs;

  // Written by admission, then owned by the dispatch thread.
  private int slot = -1;
  private int rows;
  private int variant;
  private int @Nullable [] outputs;
  private long inputBytes;
  private long arrivalNanos;
  private int rowsTaken;
  private boolean committed;

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
    this(modelName, modelVersion, id, inputs, requestedOutputs, deadlineNanos, completion, null);
  }

  /**
   * @param run the meta's run that makes this call; null for a caller's own request
   */
  public InferenceRequest(
      String modelName,
      String modelVersion,
      String id,
      List<InputTensor> inputs,
      List<String> requestedOutputs,
      long deadlineNanos,
      Completion completion,
      @Nullable MetaRun run) {
    this.modelName = modelName;
    this.modelVersion = modelVersion;
    this.id = id;
    this.inputs = inputs;
    this.requestedOutputs = requestedOutputs;
    this.deadlineNanos = deadlineNanos;
    this.completion = completion;
    this.run = run;
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

  /** As the caller sent them; once accepted, in the order the program takes them. */
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

  /** Of the model version that answers; from acceptance on. */
  public int slot() {
    return slot;
  }

  /** Extent of the batch axis; 1 for a model without one. */
  public int rows() {
    return rows;
  }

  /** Index of the shape variant that fits the inputs. */
  public int variant() {
    return variant;
  }

  /** Indices of the requested outputs, in the order requested; null for all. */
  public int @Nullable [] outputs() {
    return outputs;
  }

  /** Of all inputs together. */
  public long inputBytes() {
    return inputBytes;
  }

  /** When the request was accepted, on the engine's clock. */
  public long arrivalNanos() {
    return arrivalNanos;
  }

  /** True for a call that a meta makes. */
  public boolean isSubCall() {
    return run != null;
  }

  /** True for a meta's call that runs ahead of everything that waits. */
  public boolean isCommitted() {
    return committed;
  }

  /** Rows that are in a batch or have been. Dispatch thread only. */
  public int rowsTaken() {
    return rowsTaken;
  }

  /** Notes that rows have been put into a batch. Dispatch thread only. */
  public void takeRows(int count) {
    rowsTaken += count;
  }

  /**
   * Decides whether this call runs ahead: when a meta makes it and no other of its calls does.
   * Called by admission.
   */
  public boolean commit() {
    committed = run != null && run.enterLane();
    return committed;
  }

  /** Accepts the request. Called by admission, once, before the request is queued. */
  public void admit(Admitted found, long nowNanos) {
    slot = found.slot();
    rows = found.rows();
    variant = found.variant();
    inputs = found.inputs();
    inputBytes = found.inputBytes();
    outputs = found.outputs();
    arrivalNanos = nowNanos;
    STATE.setRelease(this, State.QUEUED);
  }

  /** Claims a queued request for a batch; false when it was cancelled meanwhile. */
  public boolean start() {
    return STATE.compareAndSet(this, State.QUEUED, State.RUNNING);
  }

  /** Asks for the request not to be answered; whoever has it looks at its next step. */
  public void requestCancel() {
    cancelRequested = true;
  }

  public boolean isCancelRequested() {
    return cancelRequested;
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

  /**
   * Lets go of the inputs and of the place in the committed lane, and hands the outcome to the
   * caller; only after {@link #end} returned true, once.
   */
  public void deliver(Outcome outcome) {
    inputs = List.of();
    if (committed && run != null) {
      run.leaveLane();
    }
    completion.onOutcome(this, outcome);
  }
}
