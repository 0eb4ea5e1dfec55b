package dev.roundhouse.worker.tee;

/** A model has no batches; the message says which, and why. */
public final class NotTeedException extends Exception {
  private final boolean isForGood;

  NotTeedException(String message) {
    this(message, true);
  }

  /**
   * @param isForGood while the same files of the model serve
   */
  NotTeedException(String message, boolean isForGood) {
    super(message);
    this.isForGood = isForGood;
  }

  /** False where it may have some later. */
  public boolean isForGood() {
    return isForGood;
  }
}
