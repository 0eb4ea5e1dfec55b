package dev.roundhouse.engine;

import java.util.OptionalDouble;
import java.util.OptionalInt;

/**
 * What the operator wants of one model.
 *
 * @param weight share of the device relative to other models; empty for the manifest's
 * @param rowCap most rows that may run together; empty for no cap
 */
public record ModelOptions(OptionalDouble weight, OptionalInt rowCap) {
  public static final ModelOptions DEFAULT =
      new ModelOptions(OptionalDouble.empty(), OptionalInt.empty());
}
