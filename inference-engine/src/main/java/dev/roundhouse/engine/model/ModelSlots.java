package dev.roundhouse.engine.model;

import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.IntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Numbers for served models, the lowest that is free, so that what is kept per model stays dense
 * however many come and go. Thread-safe; looking up takes no lock.
 */
public final class ModelSlots {
  private final BitSet taken = new BitSet();
  private volatile AtomicReferenceArray<@Nullable ProgramModel> models =
      new AtomicReferenceArray<>(16);

  /**
   * The model in a slot; null when the slot is free. It stays there while a request of it is open.
   */
  public @Nullable ProgramModel get(int slot) {
    AtomicReferenceArray<@Nullable ProgramModel> seen = models;
    return slot >= 0 && slot < seen.length() ? seen.get(slot) : null;
  }

  /** Makes a model with a slot of its own. */
  synchronized ProgramModel take(IntFunction<ProgramModel> maker) {
    int slot = taken.nextClearBit(0);
    ProgramModel model = maker.apply(slot);
    if (slot >= models.length()) {
      AtomicReferenceArray<@Nullable ProgramModel> larger = new AtomicReferenceArray<>(slot * 2);
      for (int i = 0; i < slot; i++) {
        larger.set(i, models.get(i));
      }
      models = larger;
    }
    models.set(slot, model);
    taken.set(slot);
    return model;
  }

  /** Gives a model's slot to whoever comes next; false when the model has given it back already. */
  synchronized boolean giveBack(ProgramModel model) {
    if (get(model.modelIndex()) != model) {
      return false;
    }
    models.set(model.modelIndex(), null);
    taken.clear(model.modelIndex());
    return true;
  }

  /** Models that have a slot. */
  public synchronized List<ProgramModel> all() {
    List<ProgramModel> all = new ArrayList<>();
    taken.stream().forEach(slot -> all.add(models.get(slot)));
    return all;
  }
}
