package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * The tags of start-time fair queueing and its virtual clock: device nanoseconds over weight. A
 * model's tag advances by the cost of its batches; the clock is the largest tag at which a batch
 * was chosen in turn.
 *
 * <p>A model that was idle while the clock passed its tag restarts past the clock, as if it had
 * just run, by the shorter of its own last run and the last run in turn. If it restarted at the
 * clock, as in Goyal et al., models called one after the other would all run before one that waits
 * for its second run, and the clock would not advance as long as they come.
 *
 * <p>When a batch is chosen its cost is an estimate, and other models restart at the clock before
 * the real cost is known. So while a charge is an estimate, every later step is logged; when the
 * real cost arrives, the steps are undone and redone with it. There are as many steps as models
 * became ready meanwhile, and each is redone at most once per batch under way with it. Not
 * thread-safe.
 */
final class VirtualTags {
  private double[] tags = new double[Slots.FIRST_LENGTH];

  /** How far the last run advanced the tag, by slot. */
  private double[] runs = new double[Slots.FIRST_LENGTH];

  private double clock;

  /** How far the last run in turn advanced its model's tag. */
  private double turn;

  // In order; the first is the oldest charge that has not been corrected.
  private Step[] steps = new Step[0];
  private int size;

  void ensureSlot(int slot) {
    if (slot >= tags.length) {
      tags = Arrays.copyOf(tags, Slots.lengthFor(slot, tags.length));
      runs = Arrays.copyOf(runs, tags.length);
    }
  }

  double tag(int slot) {
    return tags[slot];
  }

  double clock() {
    return clock;
  }

  /** The tag that an idle model would have if it became ready. */
  double start(int slot) {
    return tags[slot] >= clock ? tags[slot] : clock + Math.min(runs[slot], turn);
  }

  /** An idle model becomes ready. */
  void join(int slot) {
    if (size == 0) {
      tags[slot] = start(slot);
    } else {
      Step step = append(slot);
      step.idled = true;
      make(step);
    }
  }

  /**
   * A batch of a model has been chosen.
   *
   * @param perNano how far a nanosecond of device time advances the tag
   * @param inTurn true when it was due: others restart no earlier than its tag
   * @param idled true when it was idle
   */
  void charge(int slot, long expectedNanos, double perNano, boolean inTurn, boolean idled) {
    Step step = append(slot);
    step.idled = idled;
    step.inTurn = inTurn;
    step.estimated = true;
    step.expectedNanos = expectedNanos;
    step.perNano = perNano;
    step.length = expectedNanos * perNano;
    make(step);
  }

  /**
   * Replaces the estimate of the model's oldest uncorrected charge; tags of later steps may change.
   * A batch that did not run (cost 0) counts as not chosen: models that became ready since restart
   * where the clock was before.
   *
   * @return false when there is no such charge
   */
  boolean correct(int slot, long expectedNanos, long deviceNanos) {
    int index = 0;
    while (index < size && !steps[index].estimates(slot, expectedNanos)) {
      index++;
    }
    if (index == size) {
      return false;
    }
    takeBackTo(index);
    steps[index].estimated = false;
    steps[index].length = deviceNanos * steps[index].perNano;
    steps[index].inTurn &= deviceNanos > 0;
    for (int i = index; i < size; i++) {
      make(steps[i]);
    }
    return true;
  }

  /**
   * Forgets a model, as if none of its uncorrected choices had been made; tags of later steps may
   * change.
   */
  void forget(int slot) {
    takeBackTo(0);
    int kept = 0;
    for (int i = 0; i < size; i++) {
      Step step = steps[i];
      if (step.slot != slot) {
        steps[i] = steps[kept];
        steps[kept++] = step;
        make(step);
      }
    }
    size = kept;
    tags[slot] = 0;
    runs[slot] = 0;
  }

  /**
   * Makes the clock the new zero, so that it does not grow forever; only while the log is empty.
   */
  void restart() {
    for (int slot = 0; slot < tags.length; slot++) {
      tags[slot] = Math.max(0, tags[slot] - clock);
    }
    clock = 0;
  }

  /** Changes the unit of everything. */
  void scale(double factor) {
    for (int slot = 0; slot < tags.length; slot++) {
      tags[slot] *= factor;
      runs[slot] *= factor;
    }
    clock *= factor;
    turn *= factor;
    for (int i = 0; i < size; i++) {
      steps[i].scale(factor);
    }
  }

  /** Steps in the log. */
  int size() {
    return size;
  }

  /** The model of a step. */
  int slot(int step) {
    return steps[step].slot;
  }

  /** Drops steps that no correction can change any more. */
  void dropFinal() {
    int first = 0;
    while (first < size && !steps[first].estimated) {
      first++;
    }
    for (int i = first; i < size; i++) {
      Step step = steps[i];
      steps[i] = steps[i - first];
      steps[i - first] = step;
    }
    size -= first;
  }

  private void make(Step step) {
    int slot = step.slot;
    step.tagBefore = tags[slot];
    step.runBefore = runs[slot];
    step.clockBefore = clock;
    step.turnBefore = turn;
    if (step.idled) {
      tags[slot] = start(slot);
    }
    if (step.inTurn) {
      clock = Math.max(clock, tags[slot]);
      turn = step.length;
    }
    if (step.length > 0) {
      tags[slot] += step.length;
      runs[slot] = step.length;
    }
  }

  private void takeBackTo(int index) {
    for (int i = size - 1; i >= index; i--) {
      Step step = steps[i];
      tags[step.slot] = step.tagBefore;
      runs[step.slot] = step.runBefore;
      clock = step.clockBefore;
      turn = step.turnBefore;
    }
  }

  private Step append(int slot) {
    if (size == steps.length) {
      steps = Arrays.copyOf(steps, Math.max(4, size * 2));
      for (int i = size; i < steps.length; i++) {
        steps[i] = new Step();
      }
    }
    Step step = steps[size++];
    step.slot = slot;
    step.idled = false;
    step.inTurn = false;
    step.estimated = false;
    step.length = 0;
    return step;
  }

  /** Reused, so that a choice allocates nothing. */
  private static final class Step {
    int slot;

    /** The model becomes ready first. */
    boolean idled;

    /** Advances the clock to its tag. */
    boolean inTurn;

    /** Its cost is an estimate. */
    boolean estimated;

    long expectedNanos;
    double perNano;

    /** How far it advances the tag. */
    double length;

    // For undoing it.
    double tagBefore;
    double runBefore;
    double clockBefore;
    double turnBefore;

    void scale(double factor) {
      perNano *= factor;
      length *= factor;
      tagBefore *= factor;
      runBefore *= factor;
      clockBefore *= factor;
      turnBefore *= factor;
    }

    boolean estimates(int ofSlot, long nanos) {
      return estimated && slot == ofSlot && expectedNanos == nanos;
    }
  }
}
