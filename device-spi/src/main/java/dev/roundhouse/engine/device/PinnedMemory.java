package dev.roundhouse.engine.device;

/**
 * Host memory that a device has page-locked (see {@link Device#pin}). Counts as one of the device's
 * open handles until closed. Thread-safe.
 */
public interface PinnedMemory extends AutoCloseable {
  /** Memory is pinned in whole pages of this many bytes, beginning at a multiple of it. */
  int PAGE_BYTES = 4096;

  /**
   * Unpins the memory; before it is freed, and while no copy uses it. Closing twice is harmless.
   *
   * @throws DeviceException CLOSED when the memory was freed first
   */
  @Override
  void close();
}
