package dev.roundhouse.bundle.model;

/**
 * Priority levels of a model's requests; 1 is the most urgent.
 *
 * @param levels 0 when all requests are equal
 * @param defaultLevel of a request that names none; 0 when there are no levels
 */
public record Priorities(int levels, int defaultLevel) {
  public static final Priorities NONE = new Priorities(0, 0);

  public Priorities {
    boolean none = levels == 0 && defaultLevel == 0;
    if (!none && (defaultLevel < 1 || defaultLevel > levels)) {
      throw new IllegalArgumentException(
          "default priority " + defaultLevel + " is not one of the levels 1 to " + levels);
    }
  }
}
