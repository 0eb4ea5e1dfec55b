package dev.roundhouse.engine.schedule;

/**
 * ReactantServer's fair priority, with its two defects mended: among models over their share the
 * dearer one does not look better, and sharing an execution counts where it saves something, in the
 * cost of a row. Pure.
 */
final class FairScore {
  private FairScore() {}

  /**
   * Higher runs first.
   *
   * <p>A model under its share is the more urgent the cheaper it is. One over its share is the less
   * urgent the dearer it is: dividing its negative deficit by the cost, as upstream does, would
   * favour it, so it is multiplied.
   *
   * @param share what the model should have of the device, 0 to 1
   * @param recent what it had of late, 0 to 1
   * @param cost of the batch that would run, per row, above 0; any unit that all models use
   * @param cap bounds how far recent use can count, above 0
   */
  static double of(double share, double recent, double cost, double cap) {
    double deficit = Math.max(-cap, Math.min(share - recent, cap)); // Math.clamp checks its bounds
    return deficit >= 0 ? deficit / cost : deficit * cost;
  }
}
