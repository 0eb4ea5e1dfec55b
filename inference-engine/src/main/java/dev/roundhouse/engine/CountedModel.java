package dev.roundhouse.engine;

import dev.roundhouse.engine.model.ModelStatus;
import dev.roundhouse.engine.observe.ModelTotals;
import dev.roundhouse.engine.observe.Waiting;
import org.jspecify.annotations.Nullable;

/**
 * A name with what is counted of it, for those who read it often.
 *
 * @param status of the version that answers, or that says best why none does
 * @param totals of all versions; they go on counting
 * @param deviceBytes of weights on the device, of the version that answers
 * @param place where those weights are
 * @param waitsFor as {@link ModelReport#waitsFor}
 */
public record CountedModel(
    ModelStatus status,
    ModelTotals totals,
    long deviceBytes,
    Place place,
    @Nullable Waiting waitsFor) {

  /** Where weights are. */
  public enum Place {
    /** On the device, as those of a model that has none. */
    DEVICE,
    /** In host memory only. */
    HOST,
    /** In files: they are read again for a load. */
    FILE,
    /** There are no programs: the model does not serve, or only calls others. */
    NONE
  }

  public String name() {
    return status.name();
  }
}
