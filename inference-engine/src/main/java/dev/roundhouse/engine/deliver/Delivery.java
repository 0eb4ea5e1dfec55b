package dev.roundhouse.engine.deliver;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.device.DeviceBuffer;
import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.Execution;
import dev.roundhouse.engine.layout.PartialRows;
import dev.roundhouse.engine.layout.ProgramLayout;
import dev.roundhouse.engine.layout.RowLayout;
import dev.roundhouse.engine.layout.Staging;
import dev.roundhouse.engine.observe.InferenceTally;
import dev.roundhouse.engine.observe.Ledger;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.queue.Accounting;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.Pieces;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.QueuedRequest.State;
import dev.roundhouse.engine.queue.ReceiptNotes;
import dev.roundhouse.engine.request.Answer;
import dev.roundhouse.engine.request.Outcome;
import dev.roundhouse.engine.request.OutputTensor;
import dev.roundhouse.engine.request.Receipt;
import dev.roundhouse.engine.state.CarriedState;
import dev.roundhouse.engine.state.DeviceStates;
import dev.roundhouse.engine.state.HandedTensor;
import dev.roundhouse.engine.time.NanoClock;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a batch ends: splits the outputs, and gives each member its answer, or the reason why there
 * is none. Each instance serves one thread, {@code dispatch} or {@code outputs}, and counts in that
 * thread's ledger.
 */
public final class Delivery {
  /** Smaller answers are copied in about the time that lending takes. */
  private static final long LENT_FROM_BYTES = 64 << 10;

  private final Accounting accounting;
  private final ByteBudget budget;
  private final AnswerPool pool;
  private final Failures failures;
  private final NanoClock clock;
  private final Ledger ledger;
  private final Device device;
  private final DeviceStates states;
  private final boolean readsInPlace;

  /** Where whole outputs of a device with separate memory are read to, before they are split. */
  private @Nullable Staging landing;

  /** Of the batch that is being delivered, so far. */
  private long readBytes;

  private @Nullable Answer[] answers = new @Nullable Answer[16];
  private final InferenceTally.Answered answered = new InferenceTally.Answered(16);

  /**
   * @param states counts what stays on the device
   * @param device whose outputs are read: at once, and into pinned memory, where reading a part
   *     costs more than the copy
   */
  public Delivery(
      Accounting accounting,
      ByteBudget budget,
      AnswerPool pool,
      Failures failures,
      NanoClock clock,
      Device device,
      DeviceStates states) {
    this.states = states;
    this.accounting = accounting;
    this.budget = budget;
    this.pool = pool;
    this.failures = failures;
    this.clock = clock;
    ledger = accounting.ledger();
    this.device = device;
    this.readsInPlace = device.description().hostVisible();
  }

  /**
   * Answers the members of a batch that has run. A failure costs only its member.
   *
   * @throws DeviceException DEVICE_LOST, which is not one member's trouble
   */
  public void deliver(BatchSlot slot) {
    CarriedState carried = slot.carried();
    if (carried == null) {
      deliverHanding(slot);
      return;
    }
    try {
      if (!slot.requireRequest(0).isCancelRequested()) {
        carried.take(slot.execution());
      }
      deliverOutputs(slot);
    } finally {
      carried.dropTaken(); // unless the step was answered
    }
  }

  private void deliverHanding(BatchSlot slot) {
    QueuedRequest whole = slot.whole();
    if (whole == null || whole.request().handedOn().isEmpty()) {
      deliverOutputs(slot);
      return;
    }
    try {
      if (!whole.isCancelRequested()) {
        HandedOutputs.take(whole, slot.program().layout(), slot.execution(), states);
      }
      deliverOutputs(slot);
    } finally {
      HandedTensor.release(whole.takeHanded()); // unless its answer has them
    }
  }

  private void deliverOutputs(BatchSlot slot) {
    if (answers.length < slot.size()) {
      answers = Arrays.copyOf(answers, slot.size());
    }
    readBytes = 0;
    int rows = slot.rows(); // that ran, whatever becomes of them from here on
    MemorySegment @Nullable [] landed = readsInPlace ? null : land(slot);
    int row = 0;
    for (int member = 0; member < slot.size(); member++) {
      answers[member] = gather(slot, member, row, landed);
      row += slot.rowCount(member);
    }
    long now = clock.nanoTime();
    try {
      count(slot, rows, now);
    } catch (Throwable e) {
      freeAnswers(slot.size()); // nobody is given them; failing the requests gives back their bytes
      throw e;
    }
    for (int member = 0; member < slot.size(); member++) {
      Answer answer = answers[member];
      answers[member] = null;
      QueuedRequest request = slot.request(member);
      if (answer != null && request != null) {
        complete(slot, request, answer, timings(slot, request, now));
      }
    }
  }

  private void freeAnswers(int count) {
    for (int member = 0; member < count; member++) {
      Answer answer = answers[member];
      answers[member] = null;
      if (answer != null) {
        answer.free();
      }
    }
  }

  /** Counts a batch before its members are answered, so an answered caller finds it counted. */
  private void count(BatchSlot slot, int rows, long nowNanos) {
    long outputNanos = nowNanos - slot.endedNanos();
    answered.clear();
    for (int member = 0; member < slot.size(); member++) {
      QueuedRequest request = slot.request(member);
      if (answers[member] == null || request == null) {
        continue;
      }
      long whole = nowNanos - request.arrivalNanos();
      Pieces pieces = request.pieces();
      if (pieces == null) {
        answered.add(
            whole, queueNanos(slot, request), slot.inputNanos(), slot.computeNanos(), outputNanos);
      } else {
        answered.add(
            whole, pieces.queueNanos(), pieces.inputNanos(), pieces.computeNanos(), outputNanos);
      }
    }
    ledger
        .tally(slot.lane().counters())
        .add(
            rows,
            slot.startedNanos(),
            slot.inputNanos(),
            slot.computeNanos(),
            outputNanos,
            answered);
    ledger.add(slot.lane().counters(), Metric.OUTPUT_BYTES, readBytes);
  }

  /** Tells every member why it was not answered. */
  public void fail(BatchSlot slot, Throwable cause) {
    Outcome.Failed outcome = failures.outcome(slot.lane().model().name(), cause);
    for (int member = 0; member < slot.size(); member++) {
      QueuedRequest request = slot.request(member);
      if (request != null) {
        end(request, outcome);
      }
    }
  }

  /** Tells one member why it was not answered, and lets go of it. */
  public void fail(BatchSlot slot, int member, Outcome.Failed outcome) {
    QueuedRequest request = slot.request(member);
    slot.drop(member);
    if (request != null) {
      end(request, outcome);
    }
  }

  /** Drops members whose callers have cancelled; true when there were some. */
  public boolean dropCancelled(BatchSlot slot) {
    boolean any = false;
    for (int member = 0; member < slot.size(); member++) {
      QueuedRequest request = slot.request(member);
      if (request != null && request.isCancelRequested()) {
        any = true;
        slot.drop(member);
        end(request, Outcome.Cancelled.BY_CALLER);
      }
    }
    return any;
  }

  public void close() {
    if (landing != null) {
      landing.close();
    }
  }

  /** The member's answer; null when it is over, or has rows that are still to run. */
  private @Nullable Answer gather(
      BatchSlot slot, int member, int batchRow, MemorySegment @Nullable [] landed) {
    QueuedRequest request = slot.request(member);
    if (request == null) {
      return null;
    }
    if (request.isDone()) {
      slot.drop(member);
      return null;
    }
    if (request.isCancelRequested()) {
      end(request, Outcome.Cancelled.BY_CALLER);
      return null;
    }
    Pieces pieces = request.pieces();
    Answer fresh = null;
    try {
      if (pieces == null) {
        Answer lent = lend(slot, request);
        if (lent != null) {
          return lent;
        }
        fresh = BatchAnswers.allocate(pool, budget, slot, request);
        copy(slot, member, batchRow, fresh, landed);
        return fresh;
      }
      return fill(pieces, slot, member, batchRow, landed);
    } catch (Throwable e) {
      // One request's failure, such as no memory for its answer, does not fail its batch-mates.
      if (fresh != null) {
        fresh.free();
      }
      if (Failures.isLost(e)) {
        throw e;
      }
      end(request, failures.outcome(slot.lane().model().name(), e));
      return null;
    }
  }

  private @Nullable Answer lend(BatchSlot slot, QueuedRequest request) {
    long bytes = slot.answerBytes();
    boolean pays = readsInPlace && bytes >= LENT_FROM_BYTES;
    Answer lent = pays ? BatchAnswers.inPlace(pool.lent(), budget, slot, request) : null;
    readBytes += lent == null ? 0 : bytes;
    return lent;
  }

  /** Adds a piece to the answer; returns the answer when it was the last one. */
  private @Nullable Answer fill(
      Pieces pieces, BatchSlot slot, int member, int batchRow, MemorySegment @Nullable [] landed) {
    if (!pieces.enter()) {
      return null; // the request has just been ended
    }
    try {
      QueuedRequest request = slot.requireRequest(member);
      Answer whole = pieces.answer();
      if (whole == null) {
        whole = BatchAnswers.allocate(pool, budget, slot, request);
        pieces.begin(whole);
      }
      copy(slot, member, batchRow, whole, landed);
      pieces.ran(slot.inputNanos(), slot.computeNanos());
      boolean last = slot.firstRow(member) + slot.rowCount(member) == request.rows();
      return last ? whole : null;
    } finally {
      pieces.leave();
    }
  }

  /** Copies the rows of a member to their place in the answer to its whole request. */
  private void copy(
      BatchSlot slot, int member, int batchRow, Answer answer, MemorySegment @Nullable [] landed) {
    QueuedRequest request = slot.requireRequest(member);
    ProgramLayout program = slot.program().layout();
    for (int i = 0; i < answer.outputs().size(); i++) {
      int output = BatchAnswers.index(request, i);
      RowLayout layout = program.output(output);
      long length = layout.lengthOf(slot.rowCount(member));
      if (length == 0) {
        continue;
      }
      OutputTensor part = answer.outputs().get(i);
      MemorySegment target = part.data();
      PartialRows partial = layout.partial();
      if (partial != null && !partial.isWhole(part.shape())) {
        cut(slot, member, batchRow, output, part, landed);
        continue;
      }
      if (length == target.byteSize()) {
        read(slot, output, layout.batched() ? layout.offset(0, batchRow) : 0, target, landed);
        continue;
      }
      long stride = layout.lengthOf(request.rows());
      long first = layout.batched() ? slot.firstRow(member) * layout.rowBytes() : 0;
      for (long repetition = 0; repetition < layout.outer(); repetition++) {
        read(
            slot,
            output,
            layout.batched() ? layout.offset(repetition, batchRow) : 0,
            target.asSlice(repetition * stride + first, length),
            landed);
      }
    }
  }

  /** Copies rows without what lies beyond the request's own sizes. */
  private void cut(
      BatchSlot slot,
      int member,
      int batchRow,
      int output,
      OutputTensor part,
      MemorySegment @Nullable [] landed) {
    RowLayout layout = slot.program().layout().output(output);
    PartialRows partial = Objects.requireNonNull(layout.partial());
    int rows = layout.batched() ? slot.rowCount(member) : 1;
    int first = layout.batched() ? slot.firstRow(member) : 0;
    long rowBytes = partial.bytes(part.shape());
    for (int i = 0; i < rows; i++) {
      long from = layout.batched() ? layout.offset(0, batchRow + i) : 0;
      long to = (first + i) * rowBytes;
      partial.pieces(
          part.shape(),
          (dense, spread, length) ->
              read(slot, output, from + spread, part.data().asSlice(to + dense, length), landed));
    }
  }

  private void read(
      BatchSlot slot,
      int output,
      long offset,
      MemorySegment target,
      MemorySegment @Nullable [] landed) {
    if (landed == null) {
      slot.execution().output(output).read(offset, target);
      readBytes += target.byteSize();
    } else {
      MemorySegment.copy(landed[output], offset, target, 0, target.byteSize());
    }
  }

  /** Reads every output that a member asks for, once. */
  private MemorySegment[] land(BatchSlot slot) {
    ProgramLayout program = slot.program().layout();
    Staging memory = landing == null ? new Staging(0, device) : landing;
    landing = memory;
    long needed = program.outputBytes() + 64L * program.outputCount();
    if (needed > memory.byteSize()) {
      memory.offer(Staging.Memory.allocate(needed, device));
      memory.grow();
    }
    MemorySegment[] landed = new MemorySegment[program.outputCount()];
    Execution run = slot.execution();
    CarriedState carried = slot.carried();
    long offset = 0;
    for (int output = 0; output < landed.length; output++) {
      if (!slot.isAskedFor(output) || (carried != null && carried.hasTaken(output))) {
        landed[output] = MemorySegment.NULL;
        continue;
      }
      DeviceBuffer buffer = run.output(output);
      landed[output] = memory.memory().asSlice(offset, buffer.type().byteSize());
      buffer.read(0, landed[output]);
      readBytes += landed[output].byteSize();
      offset += (landed[output].byteSize() + 63) / 64 * 64;
    }
    return landed;
  }

  private void complete(
      BatchSlot slot, QueuedRequest request, Answer answer, Outcome.Timings took) {
    ReceiptNotes notes = request.notes();
    Receipt receipt = notes == null ? null : notes.receipt(slot.positions(true));
    Outcome.Completed outcome = new Outcome.Completed(slot.lane().version(), took, receipt);
    ledger.add(request.counters(), Metric.QUEUE_WAIT, took.queueNanos());
    accounting.complete(request, answer, outcome);
  }

  private void end(QueuedRequest request, Outcome outcome) {
    accounting.end(request, State.TAKEN, outcome);
  }

  /** From acceptance until the inputs of its batch were copied. */
  private static long queueNanos(BatchSlot slot, QueuedRequest request) {
    return Math.max(0, slot.startedNanos() - request.arrivalNanos() - slot.inputNanos());
  }

  private static Outcome.Timings timings(BatchSlot slot, QueuedRequest request, long nowNanos) {
    Pieces pieces = request.pieces();
    long outputNanos = nowNanos - slot.endedNanos();
    if (pieces == null) {
      return new Outcome.Timings(
          request.arrivalNanos(),
          nowNanos,
          queueNanos(slot, request),
          slot.inputNanos(),
          slot.computeNanos(),
          outputNanos,
          slot.rows(),
          slot.paddingRows());
    }
    return new Outcome.Timings(
        request.arrivalNanos(),
        nowNanos,
        pieces.queueNanos(),
        pieces.inputNanos(),
        pieces.computeNanos(),
        outputNanos,
        slot.rows(),
        slot.paddingRows());
  }
}
