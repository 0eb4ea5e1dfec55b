package dev.roundhouse.engine.sequence;

import dev.roundhouse.bundle.request.SequenceStep;
import dev.roundhouse.engine.queue.ByteBudget;
import dev.roundhouse.engine.queue.QueuedRequest;
import dev.roundhouse.engine.queue.RefusedException;
import dev.roundhouse.engine.request.Status;
import dev.roundhouse.engine.state.DeviceStates;
import dev.roundhouse.engine.time.NanoClock;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.ObjLongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The open sequences. Steps of one sequence are handed over one at a time, in order of arrival;
 * steps of different sequences share batches as other requests do. A sequence ends with its last
 * step, when another with its id starts, or when it has been idle too long; until then its state
 * counts against the memory for requests. Thread-safe.
 */
public final class Sequences {
  /** Most of the memory for requests that sequences may hold. */
  private static final int MEMORY_PART = 4;

  /** Between two checks for idle sequences; a pending one keeps a closed engine in memory. */
  private static final long MOST_TO_LOOK_NANOS = TimeUnit.MINUTES.toNanos(1);

  /**
   * Memory of a sequence besides its state and the text of its id: the objects of itself, its
   * queue, its id and its entries in two maps; some 300 bytes.
   */
  private static final long RECORD_BYTES = 512;

  private final ByteBudget bytes;
  private final NanoClock clock;
  private final DeviceStates states;
  private final Consumer<QueuedRequest> handOver;
  private final ObjLongConsumer<Runnable> later;

  // Guarded by this.
  private final Map<SequenceRules, LinkedHashMap<SequenceStep.Id, Sequence>> models =
      new IdentityHashMap<>();
  private long heldBytes;
  private boolean lookingLater;

  /**
   * @param states where state is that stays on the device
   * @param handOver gives an accepted request to the dispatch thread, or ends it; throws nothing
   * @param later runs a task after so many nanoseconds
   */
  public Sequences(
      ByteBudget bytes,
      NanoClock clock,
      DeviceStates states,
      Consumer<QueuedRequest> handOver,
      ObjLongConsumer<Runnable> later) {
    this.bytes = bytes;
    this.clock = clock;
    this.states = states;
    this.handOver = handOver;
    this.later = later;
  }

  /**
   * Finds the sequence that a request continues, or begins one. Must be followed by {@link #enter}
   * or {@link #abandon}.
   *
   * @throws RefusedException when the request continues no open sequence, or there is no memory for
   *     another
   */
  public synchronized Step begin(SequenceRules rules, QueuedRequest request)
      throws RefusedException {
    SequenceStep asked = request.request().options().sequence();
    if (asked == null) {
      throw RefusedException.invalid(
          "inference request to model '%s' must specify a non-zero or non-empty correlation ID; send a sequence_id"
              .formatted(rules.modelName()));
    }
    long now = clock.nanoTime();
    forgetIdle(rules, now);
    Sequence sequence = asked.start() ? started(rules, asked, now) : known(rules, asked);
    sequence.open++;
    return new Step(this, sequence, asked, request);
  }

  private Sequence known(SequenceRules rules, SequenceStep asked) throws RefusedException {
    var ofModel = models.get(rules);
    Sequence known = ofModel == null ? null : ofModel.get(asked.id());
    if (known == null) {
      throw RefusedException.invalid(
          "inference request for sequence %s to model '%s' must specify the START flag on the first request of the sequence; one that is silent for %d ms is forgotten"
              .formatted(asked.id(), rules.modelName(), rules.idle().toMillis()));
    }
    return known;
  }

  private Sequence started(SequenceRules rules, SequenceStep asked, long now)
      throws RefusedException {
    long needed = bytes(rules, asked.id());
    long limit = bytes.limit() / MEMORY_PART;
    if (heldBytes + needed > limit) {
      forgetIdle(now);
    }
    if (heldBytes + needed > limit || !bytes.take(needed)) {
      throw new RefusedException(
          Status.RESOURCE_EXHAUSTED,
          "sequences hold %d bytes of state, sequence %s of model '%s' needs %d and the limit is %d; end sequences, or raise %s, of which they may hold a quarter"
              .formatted(
                  heldBytes, asked.id(), rules.modelName(), needed, limit, bytes.limitName()));
    }
    heldBytes += needed;
    return new Sequence(rules, asked.id(), states, now);
  }

  private static long bytes(SequenceRules rules, SequenceStep.Id id) {
    return RECORD_BYTES + 2L * id.text().length() + rules.stateBytes();
  }

  /** Hands an accepted step over once those before it have ended. */
  public void enter(Step step) {
    Sequence sequence = step.sequence();
    synchronized (this) {
      place(step);
      sequence.waiting.add(step);
    }
    handOver(sequence);
  }

  private void place(Step step) {
    Sequence sequence = step.sequence();
    SequenceRules rules = sequence.rules();
    var ofModel = models.computeIfAbsent(rules, unknown -> new LinkedHashMap<>());
    Sequence before = ofModel.remove(sequence.id());
    if (before != null && before != sequence && !step.asked().start()) {
      ofModel.put(sequence.id(), before); // it was replaced before this step came in
      return;
    }
    if (before != null && before != sequence) {
      over(before);
    }
    if (step.asked().end() || sequence.over) {
      sequence.over = true;
      if (ofModel.isEmpty()) {
        models.remove(rules);
      }
      return;
    }
    sequence.lastUsedNanos = clock.nanoTime();
    ofModel.put(sequence.id(), sequence); // last: the first has been idle longest
    lookLater(rules);
  }

  /** Drops a step that was not accepted. */
  public synchronized void abandon(Step step) {
    Sequence sequence = step.sequence();
    var ofModel = models.get(sequence.rules());
    sequence.over |= ofModel == null || ofModel.get(sequence.id()) != sequence;
    sequence.open--;
    release(sequence);
  }

  /** A step has been answered, or never will be. */
  void ended(Step step) {
    Sequence sequence = step.sequence();
    synchronized (this) {
      sequence.open--;
      sequence.lastUsedNanos = clock.nanoTime();
      if (sequence.running == step) {
        sequence.running = null;
      } else {
        sequence.waiting.remove(step);
      }
      release(sequence);
    }
    handOver(sequence);
  }

  /** One thread at a time, in a loop, not recursively: a step may end while it is handed over. */
  private void handOver(Sequence sequence) {
    synchronized (this) {
      if (sequence.handingOver) {
        return;
      }
      sequence.handingOver = true;
    }
    for (Step next = next(sequence); next != null; next = next(sequence)) {
      handOver.accept(next.request());
    }
  }

  private synchronized @Nullable Step next(Sequence sequence) {
    Step next = null;
    while (next == null && sequence.running == null && !sequence.waiting.isEmpty()) {
      next = sequence.waiting.remove();
      if (next.request().isDone()) {
        next = null; // cancelled
      }
    }
    if (next == null) {
      sequence.handingOver = false;
    } else {
      sequence.running = next;
    }
    return next;
  }

  /** Forgets all sequences of a model that admission no longer finds. */
  public synchronized void forget(SequenceRules rules) {
    var ofModel = models.remove(rules);
    if (ofModel != null) {
      ofModel.values().forEach(this::over);
    }
  }

  /** How many sequences are open. */
  public synchronized int count() {
    return models.values().stream().mapToInt(Map::size).sum();
  }

  /** What they hold of the memory for requests. */
  public synchronized SequenceMemory memory() {
    return new SequenceMemory(heldBytes, bytes.limit() / MEMORY_PART);
  }

  private void over(Sequence sequence) {
    sequence.over = true;
    release(sequence);
  }

  private void release(Sequence sequence) {
    if (sequence.over && sequence.open == 0 && sequence.counted) {
      sequence.counted = false;
      sequence.close();
      long held = bytes(sequence.rules(), sequence.id());
      heldBytes -= held;
      bytes.giveBack(held);
    }
  }

  private void forgetIdle(long now) {
    List.copyOf(models.keySet()).forEach(rules -> forgetIdle(rules, now));
  }

  private void forgetIdle(SequenceRules rules, long now) {
    var ofModel = models.get(rules);
    if (ofModel == null) {
      return;
    }
    List<Sequence> idle = new ArrayList<>(0);
    for (Sequence sequence : ofModel.values()) {
      if (now - sequence.lastUsedNanos < rules.idle().toNanos()) {
        break; // those behind it were continued later
      }
      if (sequence.open == 0) {
        idle.add(sequence);
      }
    }
    for (Sequence sequence : idle) {
      ofModel.remove(sequence.id());
      over(sequence);
    }
    if (ofModel.isEmpty()) {
      models.remove(rules);
    }
  }

  /** Frees their memory even when no further request arrives. */
  private void lookLater(SequenceRules rules) {
    if (!lookingLater) {
      lookingLater = true;
      later.accept(this::look, Math.min(rules.idle().toNanos(), MOST_TO_LOOK_NANOS));
    }
  }

  private synchronized void look() {
    lookingLater = false;
    forgetIdle(clock.nanoTime());
    models.keySet().stream()
        .min((one, other) -> one.idle().compareTo(other.idle()))
        .ifPresent(this::lookLater);
  }
}
