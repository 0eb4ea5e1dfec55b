package dev.roundhouse.hooks.guard;

/** A bundle's code wanted more of the heap than one hook may have. */
public final class AllocationRefusedError extends OutOfMemoryError {

  public AllocationRefusedError(String message) {
    super(message);
  }
}
