package dev.roundhouse.engine.dispatch;

import dev.roundhouse.engine.batch.BatchSlot;
import dev.roundhouse.engine.device.Device;
import dev.roundhouse.engine.layout.Staging;
import dev.roundhouse.engine.model.Servable;
import dev.roundhouse.engine.observe.Ledger;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The pipeline's slots: one to arm, one to run, one to answer. */
final class BatchSlots {
  static final int COUNT = 3;

  private final BatchSlot[] slots = new BatchSlot[COUNT];

  BatchSlots(Device device, Ledger ledger) {
    for (int i = 0; i < COUNT; i++) {
      slots[i] = new BatchSlot(i, device, ledger);
    }
  }

  BatchSlot get(int index) {
    return slots[index];
  }

  /** A free one; null when there is none. */
  @Nullable BatchSlot free() {
    for (BatchSlot slot : slots) {
      if (slot.isFree()) {
        return slot;
      }
    }
    return null;
  }

  /** How many hold a batch. */
  int used() {
    int used = 0;
    for (BatchSlot slot : slots) {
      used += slot.isFree() ? 0 : 1;
    }
    return used;
  }

  /** True when any slot holds a batch of the model. */
  boolean hold(Servable model) {
    for (BatchSlot slot : slots) {
      if (!slot.isFree() && slot.lane().model() == model) {
        return true;
      }
    }
    return false;
  }

  /** True when a batch of the model runs or is about to, so that its weights must stay. */
  boolean useWeightsOf(int modelIndex) {
    for (BatchSlot slot : slots) {
      if (slot.holdsArguments() && slot.lane().modelIndex() == modelIndex) {
        return true;
      }
    }
    return false;
  }

  /**
   * Gives each slot larger input memory, used from its next batch on.
   *
   * @param memory one for each slot, or none; taken
   */
  void grow(List<Staging.Memory> memory) {
    for (int i = 0; i < memory.size(); i++) {
      slots[i].offer(memory.get(i));
    }
  }

  void forEach(Consumer<BatchSlot> action) {
    for (BatchSlot slot : slots) {
      action.accept(slot);
    }
  }
}
