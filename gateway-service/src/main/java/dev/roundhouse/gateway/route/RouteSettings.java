package dev.roundhouse.gateway.route;

import java.util.Map;

/**
 * How requests are distributed over workers.
 *
 * @param fillFactor full batches for one replica before the next
 * @param models exceptions for single models, by name
 */
public record RouteSettings(
    Mode mode,
    WorkBasis basis,
    FillMode fillMode,
    OpeningPolicy opening,
    double fillFactor,
    Map<String, Fill> models) {
  public RouteSettings {
    check(fillFactor);
    models = Map.copyOf(models);
  }

  /** How one model's requests fill its replicas. */
  public record Fill(FillMode mode, double factor) {
    public Fill {
      check(factor);
    }
  }

  private static void check(double factor) {
    if (!(factor > 0 && factor < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("fill factor is " + factor + "; it is above 0");
    }
  }

  public Fill fill(String model) {
    Fill own = models.get(model);
    return own == null ? new Fill(fillMode, fillFactor) : own;
  }
}
