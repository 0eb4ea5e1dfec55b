package dev.roundhouse.engine.schedule;

import java.util.Arrays;

/**
 * The tags of start-time fair queueing and its virtual clock: device nanoseconds over weight. A
 * model's tag moves on by what its batches cost, and the clock is the largest tag at which a batch
 * was chosen in its turn.
 *
 * <p>One that the clock has passed while it idled starts a run past the clock, as if it had just
 * had its turn: the shorter of its own last run and of the last in turn. At the clock itself, where
 * Goyal et al. have it start, models that are called one after the other would all go before one
 * that waits for its second run, and the clock would stand still for as long as they come.
 *
 * <p>What a batch costs is an estimate when it is chosen, and others start at the clock before the
 * truth is known. So while an estimate stands, every step since is written down; when the truth
 * comes the steps are taken back and made again with it. There are as many as models became ready
 * meanwhile, and each is made again at most once per batch that was under way with it. Not
 * thread-safe.
 */
final class VirtualTags {
  private double[] tags = new double[Slots.FIRST_LENGTH];

  /** How far its last run moved the tag, by slot. */
  private double[] runs = new double[Slots.FIRST_LENGTH];

  private double clock;

  /** How far the last run in turn moved the tag of its model. */
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

  /** Where the tag of a model that idles would be if it became ready. */
  double start(int slot) {
    return tags[slot] >= clock ? tags[slot] : clock + Math.min(runs[slot], turn);
  }

  /** A model that idled wants the device again. */
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
   * @param perNano how far a nanosecond of the device moves the tag
   * @param inTurn it was due, so others start no earlier than it does
   * @param idled it had nothing waiting
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
   * Replaces the estimate of the oldest such charge. The tag of any step may change with it. A
   * batch that was not run after all, at 0, was not chosen either: whoever became ready since
   * starts where the clock stood before.
   *
   * @return whether there is one
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
   * Forgets a model: all is as if it had not been chosen while estimates stood. The tag of any step
   * may change with it.
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

  /** Counts from the clock on, which must not grow for ever; while nothing is written down. */
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

  /** Steps that are written down. */
  int size() {
    return size;
  }

  /** The model that a step moved. */
  int slot(int step) {
    return steps[step].slot;
  }

  /** Drops the steps that no truth to come can change. */
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

  /** Used again and again, so that a choice costs no allocation. */
  private static final class Step {
    int slot;

    /** Returns from idling first. */
    boolean idled;

    /** Moves the clock to its tag. */
    boolean inTurn;

    /** Its length is an estimate. */
    boolean estimated;

    long expectedNanos;
    double perNano;

    /** How far it moves the tag. */
    double length;

    // What to take back.
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
