package dev.roundhouse.engine.batch;

import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.Device.HostMemory;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.lane.ModelLane;
import dev.roundhouse.engine.layout.PartialRows;
import dev.roundhouse.engine.layout.PreparedProgram;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.Staging;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.state.ArgumentsOnDevice;
import dev.roundhouse.engine.state.CarriedState;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * A place for one batch, from the choice of its rows to the delivery of its answers: the {@link
 * BatchMembers members}, the staging memory of their inputs, the uploads, the execution. Reused, so
 * that forming a batch allocates nothing. Owned by the dispatch thread; while DELIVERING, the
 * members and the execution belong to whoever delivers.
 *
 * <p>A batch without members is a run to warm its program up.
 */
public final class BatchSlot extends BatchMembers implements AutoCloseable {

  /** Life cycle of what is in the slot. */
  public enum State {
    /** Nothing is. */
    FREE,
    /** Assembled and uploaded, not started: may still be taken apart. */
    ARMED,
    /** On the device. */
    RUNNING,
    /** The run is over, the answers are on their way. */
    DELIVERING
  }

  private static final @Nullable DeviceBuffer[] NO_ARGUMENTS = new @Nullable DeviceBuffer[0];
  private static final @Nullable MemorySegment[] NONE_PLACED = new @Nullable MemorySegment[0];

  private final Staging staging;
  private State state = State.FREE;

  private @Nullable ModelLane lane;
  private @Nullable PreparedProgram program;
  private @Nullable DeviceBuffer[] arguments = NO_ARGUMENTS;
  private @Nullable ArgumentsOnDevice held;

  /** By input; null for those that stand in the staging memory. */
  private @Nullable MemorySegment[] placed = NONE_PLACED;

  /** Inputs that {@link #placed} tells of; 0 when all stand in the staging memory. */
  private int placedCount;

  private @Nullable Execution execution;
  private long expectedNanos;
  private long inputNanos;
  private long uploadedBytes;

  /** True once the device has been asked to run it. */
  private boolean begun;

  private long startedNanos;
  private long endedNanos;

  /**
   * @param index among the slots of a loop, from 0
   * @param device that the slot's inputs go to
   * @param ledger counts members that leave their queue
   */
  public BatchSlot(int index, Device device, Ledger ledger) {
    super(ledger);
    staging = new Staging(index, device);
  }

  /** Offers larger input memory, used once the slot is free. Takes ownership. */
  public void offer(Staging.Memory larger) {
    staging.offer(larger);
    if (isFree()) {
      staging.grow();
    }
  }

  public boolean isFree() {
    return state == State.FREE;
  }

  /** True from arming until the run has ended: its arguments must stay. */
  public boolean holdsArguments() {
    return state == State.ARMED || state == State.RUNNING;
  }

  public Staging staging() {
    return staging;
  }

  /** Begins a batch; {@link #expectedNanos} is what its program costs at this moment. */
  public void begin(ModelLane ofLane, PreparedProgram withProgram) {
    lane = ofLane;
    program = withProgram;
    expectedNanos = Math.round(withProgram.cost().meanNanos());
    inputNanos = 0;
    waitAnew();
    begun = false;
  }

  /** True when another slot was given exactly the same rows, program and order. */
  public boolean hasSameMembers(BatchSlot other) {
    return program == other.program && isSameRows(other);
  }

  /**
   * Takes back its rows, given to another slot meanwhile, as its inputs are on the device already;
   * frees the other.
   */
  public void retake(BatchSlot other) {
    expectedNanos = other.expectedNanos;
    other.clear();
  }

  /**
   * Takes another slot's contents in place of its own members and frees its own uploads; frees the
   * other.
   *
   * @throws RuntimeException when an upload cannot be freed; the rest is done
   */
  public void takeOver(BatchSlot other) {
    try {
      clear();
    } finally {
      begin(other.lane(), other.program());
      expectedNanos = other.expectedNanos;
      addAll(other);
      other.clear();
    }
  }

  /**
   * Uploads what stands in the staging memory or in its place. From here on the batch is armed.
   *
   * @throws RuntimeException when the device refuses; nothing is kept on it then
   */
  public void arm(Device device) {
    PreparedProgram of = program();
    ProgramLayout layout = of.layout();
    int count = of.argumentCount();
    if (arguments.length != count) {
      arguments = new @Nullable DeviceBuffer[count];
    }
    state = State.ARMED;
    uploadedBytes = layout.inputBytes() - (held == null ? 0 : held.byteSize());
    try {
      for (int i = 0; i < layout.inputCount(); i++) {
        DeviceBuffer there = held == null ? null : held.argument(i);
        arguments[i] =
            there != null
                ? there
                : device.upload(layout.input(i).type(), source(layout, i), HostMemory.ALIAS);
      }
      of.placeWeights(arguments);
    } catch (Throwable e) {
      closeUploads();
      throw e;
    }
  }

  private MemorySegment source(ProgramLayout layout, int input) {
    MemorySegment place = input < placedCount ? placed[input] : null;
    return place == null ? layout.staged(input, staging) : place;
  }

  /**
   * Says where the rows of an input lie.
   *
   * @param memory as long as the program's input; null for the staging memory
   */
  void place(int input, @Nullable MemorySegment memory) {
    if (memory == null && placedCount == 0) {
      return;
    }
    placedCount = program().layout().inputCount();
    if (placed.length < placedCount) {
      placed = Arrays.copyOf(placed, placedCount);
    }
    placed[input] = memory;
  }

  /** True for an input that lies outside the staging memory. */
  boolean isPlaced(int input) {
    return input < placedCount && placed[input] != null;
  }

  /** True when a run reads memory of its members: none of them may be let go before it is over. */
  public boolean readsMembers() {
    for (int input = 0; input < placedCount; input++) {
      if (placed[input] != null) {
        return true;
      }
    }
    return false;
  }

  /** True when no input had to be copied. */
  public boolean isInPlace() {
    for (int input = 0; input < placedCount; input++) {
      if (placed[input] == null) {
        return false;
      }
    }
    return placedCount > 0;
  }

  /** Gives its uploads back, to be assembled again. */
  public void disarm() {
    closeUploads();
    forgetPlaces();
  }

  private void forgetPlaces() {
    Arrays.fill(placed, 0, placedCount, null);
    placedCount = 0;
  }

  /** Of the run, inputs first; set by {@link #arm}. */
  @SuppressWarnings("NullAway") // every element was set
  public DeviceBuffer[] arguments() {
    return arguments;
  }

  /** The device is asked to run it. */
  public void beginRun() {
    leaveQueue();
    begun = true;
  }

  /** True of a batch that the device has been asked to run, until its slot is free. */
  public boolean hasBegun() {
    return begun && size() > 0;
  }

  @Override
  public void rejoinQueue() {
    begun = false;
    super.rejoinQueue();
  }

  /** The run has started. Takes {@code run}. */
  public void started(Execution run, long nowNanos) {
    execution = run;
    startedNanos = nowNanos;
    state = State.RUNNING;
  }

  /**
   * The run is over; the uploads are given back.
   *
   * @throws RuntimeException when one cannot be; the others are
   */
  public void ended(long nowNanos) {
    endedNanos = nowNanos;
    state = State.DELIVERING;
    closeUploads();
  }

  /**
   * Lets go of everything, to be used again, even when something of it cannot be freed.
   *
   * @throws RuntimeException what kept it from being freed
   */
  public void clear() {
    Execution run = execution;
    execution = null;
    try {
      if (run != null) {
        run.close();
      }
    } finally {
      try {
        closeUploads();
      } finally {
        forget();
        forgetPlaces();
        lane = null;
        program = null;
        state = State.FREE;
        staging.grow();
      }
    }
  }

  private void closeUploads() {
    int inputs = Math.min(program == null ? 0 : program.layout().inputCount(), arguments.length);
    ArgumentsOnDevice lent = held;
    if (lent == null) {
      closeUploads(inputs - 1);
      return;
    }
    held = null;
    try {
      for (int i = 0; i < inputs; i++) {
        if (lent.argument(i) != null) {
          arguments[i] = null;
        }
      }
      closeUploads(inputs - 1);
    } finally {
      lent.release();
    }
  }

  /** Closes the last first, and all of them whatever one of them throws. */
  private void closeUploads(int last) {
    for (int i = last; i >= 0; i--) {
      DeviceBuffer buffer = arguments[i];
      arguments[i] = null;
      if (buffer != null) {
        try {
          buffer.close();
        } catch (Throwable e) {
          closeUploads(i - 1);
          throw e;
        }
      }
    }
  }

  /**
   * The state that goes from run to run on the device: that of a batch's only row. Null when there
   * is none, or it goes through the host.
   */
  public @Nullable CarriedState carried() {
    QueuedRequest only = size() == 1 && program().batchSize() == 1 ? request(0) : null;
    return only == null ? null : only.carried();
  }

  /**
   * Borrows what is there of that state, or what other calls have left for the one request. Called
   * before the batch is armed.
   */
  void borrowArguments() {
    CarriedState carried = carried();
    if (carried != null) {
      held = carried.borrow();
      return;
    }
    QueuedRequest only = whole();
    held =
        only == null || !only.isSubCall()
            ? null
            : HandedArguments.of(only.inputs(), program().layout());
  }

  /** The request whose rows are the whole batch, all of them; null when there is none such. */
  public @Nullable QueuedRequest whole() {
    QueuedRequest only = size() == 1 ? request(0) : null;
    return only != null && rowCount(0) == only.rows() && rowCount(0) == program().batchSize()
        ? only
        : null;
  }

  /** True for an input that is on the device already. */
  boolean isHeld(int input) {
    return held != null && held.argument(input) != null;
  }

  /** Of the outputs that a member asks for, but for state that stays on the device. */
  public long answerBytes() {
    ProgramLayout layout = program().layout();
    long bytes = 0;
    for (int output = 0; output < layout.outputCount(); output++) {
      bytes += isAskedFor(output) ? layout.output(output).byteSize() : 0;
    }
    CarriedState carried = carried();
    return carried == null ? bytes : bytes - carried.byteSize();
  }

  /** True for a run that warms a program up. */
  public boolean isWarmUp() {
    return size() == 0;
  }

  /**
   * Elements of the first input that is padded, in all rows that somebody waits for.
   *
   * @param padding only those that are padding
   */
  public long positions(boolean padding) {
    ProgramLayout layout = program().layout();
    int input = layout.paddedInput();
    PartialRows partial = input < 0 ? null : layout.input(input).partial();
    if (partial == null) {
      return 0;
    }
    long positions = 0;
    for (int member = 0; member < size(); member++) {
      QueuedRequest request = request(member);
      if (request != null) {
        long asked = partial.elements(request.inputs().get(input).shape());
        positions += rowCount(member) * (padding ? partial.elements() - asked : partial.elements());
      }
    }
    return positions;
  }

  public int paddingRows() {
    return program().batchSize() - rows();
  }

  public ModelLane lane() {
    return Objects.requireNonNull(lane);
  }

  public PreparedProgram program() {
    return Objects.requireNonNull(program);
  }

  public Execution execution() {
    return Objects.requireNonNull(execution);
  }

  /** Hands the ended run over to another owner, who closes it. */
  public void letGoOfRun() {
    execution = null;
  }

  /** Device time it is expected to take, as it was when the batch was formed. */
  public long expectedNanos() {
    return expectedNanos;
  }

  public long startedNanos() {
    return startedNanos;
  }

  public long endedNanos() {
    return endedNanos;
  }

  /** How long it took to lay the inputs out and upload them; 0 when too short to time. */
  public long inputNanos() {
    return inputNanos;
  }

  /** Of the inputs that were uploaded for it. */
  public long uploadedBytes() {
    return uploadedBytes;
  }

  public void tookForInputs(long nanos) {
    inputNanos = nanos;
  }

  public long computeNanos() {
    return endedNanos - startedNanos;
  }

  @Override
  public void close() {
    staging.close();
  }
}
