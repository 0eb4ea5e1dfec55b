package dev.roundhouse.gateway.placement;

/**
 * A worker that models can be placed on.
 *
 * @param name by which it is reached, and by which ties are decided
 * @param weightBytes that its device has room for; 0 when that is not known, or nothing limits it
 */
public record WorkerRoom(String name, long weightBytes) {
  public WorkerRoom {
    if (weightBytes < 0) {
      throw new IllegalArgumentException(
          "worker '%s' has room for %d bytes".formatted(name, weightBytes));
    }
  }

  boolean isLimited() {
    return weightBytes > 0;
  }
}
