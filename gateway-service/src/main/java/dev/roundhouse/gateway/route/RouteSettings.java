package dev.roundhouse.gateway.route;

/**
 * How requests are given to workers.
 *
 * @param fillFactor full batches that one replica gets before another does
 */
public record RouteSettings(
    Mode mode, WorkBasis basis, FillMode fillMode, OpeningPolicy opening, double fillFactor) {
  public RouteSettings {
    if (!(fillFactor > 0 && fillFactor < Double.POSITIVE_INFINITY)) {
      throw new IllegalArgumentException("fill factor is " + fillFactor + "; it is above 0");
    }
  }
}
