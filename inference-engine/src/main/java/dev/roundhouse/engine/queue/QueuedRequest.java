package dev.roundhouse.engine.queue;

import dev.roundhouse.engine.observe.ModelCounters;
import dev.roundhouse.engine.request.AnswerSink;
import dev.roundhouse.engine.request.InferenceRequest;
import dev.roundhouse.engine.request.InputTensor;
import dev.roundhouse.engine.request.Submission;
import dev.roundhouse.engine.state.CarriedState;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * The engine's own record of a request: where it is on its way, and what admission found.
 *
 * <p>The thread that moves {@link #state} to {@link State#DONE} delivers the outcome, so there is
 * exactly one. What admission found is written before the request is handed to the dispatch thread,
 * which from then on is the only one to read it.
 *
 * <p><b>Cancelling and taking</b> race, and both must not miss the other: a canceller sets {@link
 * #isCancelRequested} and then reads the state; the dispatch thread sets the state to TAKEN and
 * then reads the flag. Both are volatile, so at least one of the two sees what the other wrote.
 */
public final class QueuedRequest implements Submission {

  /** Life cycle. */
  public enum State {
    /** Not yet admitted. */
    NEW,
    /** Accepted: counted, and waiting to run. Cancelled at once, at no cost to others. */
    QUEUED,
    /**
     * In a batch, whole or in part; its inputs may be in use. Back to QUEUED when the batch is
     * taken apart before it starts.
     */
    TAKEN,
    /** The outcome has been delivered, or is about to be. */
    DONE
  }

  /** Takes requests back; see {@link Submission#cancel}. */
  @FunctionalInterface
  public interface Canceller {
    boolean cancel(QueuedRequest request);
  }

  /** In place of the index of a model that has no lane. */
  public static final int NO_LANE = -1;

  private static final VarHandle STATE;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(QueuedRequest.class, "state", State.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final InferenceRequest request;
  private Canceller canceller; // set anew by admission at most

  // Copied from the request: so the dispatch thread reads one object, not two.
  private AnswerSink sink; // set anew by admission at most
  private final long deadlineNanos;
  private final int tenant;

  @SuppressWarnings("FieldMayBeFinal") // written through STATE
  private volatile State state = State.NEW;

  private volatile boolean cancelRequested;

  // Written by admission, then owned by the dispatch thread.
  private List<InputTensor> inputs = List.of();
  private @Nullable ModelCounters counters;
  private int modelIndex = NO_LANE;
  private int rows;
  private int variant;
  private int @Nullable [] outputs;
  private int level;
  private long inputBytes;
  private long answerBytes;
  private long arrivalNanos;
  private long queueDeadlineNanos = InferenceRequest.NO_DEADLINE;
  private int share = QueueShares.NOT_COUNTED;
  private @Nullable AtomicInteger tenantPlace;
  private boolean committed;
  private @Nullable CarriedState carried;
  private boolean delayed;

  /** Null unless a receipt is wanted. */
  private final @Nullable ReceiptNotes notes;

  // Owned by the dispatch thread, but for pieces: whoever delivers a batch of it.
  private int rowsTaken;
  private @Nullable Pieces pieces;
  private List<InputTensor> handed = List.of();

  public QueuedRequest(InferenceRequest request, Canceller canceller) {
    this.request = request;
    this.canceller = canceller;
    sink = request.sink();
    deadlineNanos = request.deadlineNanos();
    tenant = request.tenant();
    notes = request.options().wantsReceipt() ? new ReceiptNotes() : null;
  }

  @Override
  public InferenceRequest request() {
    return request;
  }

  @Override
  public boolean cancel() {
    return canceller.cancel(this);
  }

  public State state() {
    return state;
  }

  public boolean isDone() {
    return state == State.DONE;
  }

  /** Notes where the request counts as its caller's. Called by admission, once it is accepted. */
  public void countIn(int cell) {
    share = cell;
  }

  /** The tenant that it is charged to, by its number. */
  public int tenant() {
    return tenant;
  }

  /** Notes where it counts as its tenant's. Called by admission, once it is accepted. */
  public void countAt(@Nullable AtomicInteger place) {
    tenantPlace = place;
  }

  /** Where it counts as its tenant's; null when it does not. */
  @Nullable AtomicInteger tenantPlace() {
    return tenantPlace;
  }

  /** Where it counts as its caller's; of {@link QueueShares}. */
  int share() {
    return share;
  }

  /** In the order the program takes them; none once the request is over. */
  public List<InputTensor> inputs() {
    return inputs;
  }

  /** Of the model that answers; from acceptance on. */
  public ModelCounters counters() {
    return Objects.requireNonNull(counters);
  }

  /** Of the model version that answers; from acceptance on. */
  public int modelIndex() {
    return modelIndex;
  }

  /** Extent of the batch axis; 1 for a model without one. */
  public int rows() {
    return rows;
  }

  /** Index of the shape variant that fits the inputs. */
  public int variant() {
    return variant;
  }

  /** The state that it continues, if that may stay on the device; null for others. */
  public @Nullable CarriedState carried() {
    return carried;
  }

  /** Continues a sequence whose state may stay on the device. Called by admission. */
  public void carry(@Nullable CarriedState state) {
    carried = state;
  }

  /** Indices of the requested outputs, ascending; null for all. */
  public int @Nullable [] outputs() {
    return outputs;
  }

  /**
   * Answers with fewer outputs: others stay on the device for the call that follows. By whoever
   * delivers.
   */
  public void handOn(List<InputTensor> tensors, int[] left) {
    handed = tensors;
    outputs = left;
  }

  /** Takes what is handed on, for its answer; empty for most. */
  public List<InputTensor> takeHanded() {
    List<InputTensor> taken = handed;
    handed = List.of();
    return taken;
  }

  /** True when an output is wanted, or kept as state. */
  public boolean asksFor(int output) {
    int[] asked = outputs;
    if (asked == null) {
      return true;
    }
    for (int each : asked) {
      if (each == output) {
        return true;
      }
    }
    return false;
  }

  /** Among the model's priorities, 1 first; 0 when the model has none. */
  public int level() {
    return level;
  }

  /** Of all inputs together. */
  public long inputBytes() {
    return inputBytes;
  }

  /** Of the answer that was promised. */
  public long answerBytes() {
    return answerBytes;
  }

  /** When the request was accepted, on the engine's clock. */
  public long arrivalNanos() {
    return arrivalNanos;
  }

  /** Where the answer goes. */
  AnswerSink sink() {
    return sink;
  }

  /** On the engine's clock; {@link InferenceRequest#NO_DEADLINE} when there is none. */
  public long deadlineNanos() {
    return deadlineNanos;
  }

  /** Until when it may wait; {@link InferenceRequest#NO_DEADLINE} for as long as it takes. */
  public long queueDeadlineNanos() {
    return queueDeadlineNanos;
  }

  /** Where what its receipt tells is noted; null when none is wanted. */
  public @Nullable ReceiptNotes notes() {
    return notes;
  }

  /** True for one that has waited too long and stands behind the others of its level. */
  boolean isDelayed() {
    return delayed;
  }

  /** Has it wait behind the others of its level, without a limit. */
  void delay() {
    delayed = true;
    queueDeadlineNanos = InferenceRequest.NO_DEADLINE;
  }

  /** True for a call that a meta makes. */
  public boolean isSubCall() {
    return request.run() != null;
  }

  /** True for a meta's call that runs ahead of everything that waits. */
  public boolean isCommitted() {
    return committed;
  }

  /** Rows that are in a batch or have been. Dispatch thread only. */
  public int rowsTaken() {
    return rowsTaken;
  }

  /** True when some of its rows are in a batch or have been, and others wait. */
  public boolean hasBegun() {
    return rowsTaken > 0;
  }

  /** Notes that rows have been put into a batch, or taken out again. Dispatch thread only. */
  public void takeRows(int count) {
    rowsTaken += count;
  }

  /** What has come in of an answer that is made piece by piece; null for others. */
  public @Nullable Pieces pieces() {
    return pieces;
  }

  public void beginPieces(Pieces begun) {
    pieces = begun;
  }

  /**
   * Decides whether this call runs ahead: when a meta makes it and no other of its calls does.
   * Called by admission.
   */
  public boolean commit() {
    var run = request.run();
    committed = run != null && run.enterLane();
    return committed;
  }

  /** Gives the place ahead of others back: the request was refused after all, or is over. */
  public void leaveLane() {
    var run = request.run();
    if (committed && run != null) {
      run.leaveLane();
    }
  }

  /** Gives the place ahead of others to the calls that answer this one, of which it is one. */
  public void giveLaneOn() {
    leaveLane();
    committed = false;
  }

  /**
   * Accepts the request. Called by admission, once, before the request is queued.
   *
   * @param index of the model version that answers; {@link #NO_LANE} when that has no lane
   * @param priority among the model's priorities; 0 when it has none
   * @param leaveByNanos until when it may wait
   */
  public void admit(
      int index, Admitted found, ModelCounters of, int priority, long leaveByNanos, long nowNanos) {
    modelIndex = index;
    rows = found.rows();
    variant = found.variant();
    inputs = found.inputs();
    inputBytes = found.inputBytes();
    answerBytes = found.answerBytes();
    outputs = found.outputs();
    counters = of;
    level = priority;
    queueDeadlineNanos = leaveByNanos;
    arrivalNanos = nowNanos;
    STATE.setRelease(this, State.QUEUED);
  }

  /** Has the answer pass another sink on its way. Called by admission, before it accepts. */
  public void answerThrough(AnswerSink other) {
    sink = other;
  }

  /** Has another take the request back. Called by admission, before its caller can. */
  public void cancelThrough(Canceller other) {
    canceller = other;
  }

  /** Takes a queued request into a batch; false when it was cancelled meanwhile. */
  public boolean take() {
    return STATE.compareAndSet(this, State.QUEUED, State.TAKEN);
  }

  /** Puts a request whose batch was taken apart back to those that wait. Dispatch thread only. */
  public void putBack() {
    STATE.setVolatile(this, State.QUEUED);
  }

  /** Requests cancellation; the request's holder checks at its next step. */
  public void requestCancel() {
    cancelRequested = true;
  }

  public boolean isCancelRequested() {
    return cancelRequested;
  }

  @Override
  public boolean isInBatch() {
    return state() == State.TAKEN;
  }

  /**
   * Moves the request to its end if it is in {@code expected}. On true, the caller of this must
   * deliver an outcome.
   *
   * @return false when somebody else moved it first
   */
  boolean end(State expected) {
    return STATE.compareAndSet(this, expected, State.DONE);
  }

  /** Lets go of what the caller lent, of what was gathered, and of the place ahead of others. */
  void release(boolean answered) {
    inputs = List.of();
    if (pieces != null && !answered) {
      pieces.free();
    }
    leaveLane();
  }
}
