package dev.roundhouse.engine.hostweights;

import java.nio.file.Path;
import java.util.Optional;

/**
 * How weights are held in host memory.
 *
 * @param kind of host weights that set no other
 * @param budgetBytes limit on the host memory of all weights; beyond it, those leased longest ago
 *     are evicted
 * @param hugePages asks the system for pages of 2 MiB
 * @param budgetName the budget's name in messages: where the application sets it
 * @param sharing one copy for all processes of the machine; empty: each has its own
 */
public record HostWeightsOptions(
    HostWeightsKind kind,
    long budgetBytes,
    String budgetName,
    boolean hugePages,
    Optional<Sharing> sharing) {

  public static final HostWeightsOptions DEFAULT =
      new HostWeightsOptions(HostWeightsKind.KEPT, Long.MAX_VALUE, true, Optional.empty());

  /**
   * @throws IllegalArgumentException when a value is out of its bounds; names it
   */
  public HostWeightsOptions {
    if (budgetBytes < 0) {
      throw new IllegalArgumentException(
          "host weights option budgetBytes is " + budgetBytes + "; it must be 0 or more");
    }
  }

  /** With a budget that is set here. */
  public HostWeightsOptions(
      HostWeightsKind kind, long budgetBytes, boolean hugePages, Optional<Sharing> sharing) {
    this(kind, budgetBytes, "HostWeightsOptions.budgetBytes", hugePages, sharing);
  }

  /**
   * @param directory where the shared regions are, in memory: {@code /dev/shm}
   * @param mode permission bits of regions while they are made; once made, nobody but the owner may
   *     write
   * @param digests folder in which digests of weights are kept whose bundle has none; empty: they
   *     are computed at each start
   */
  public record Sharing(Path directory, int mode, Optional<Path> digests) {
    public static final Path SHARED_MEMORY = Path.of("/dev/shm");
    public static final int DEFAULT_MODE = 0660;

    public Sharing(Path directory, int mode) {
      this(directory, mode, Optional.empty());
    }

    /**
     * @throws IllegalArgumentException when the owner may not read and write, or the bits are more
     *     than permissions
     */
    public Sharing {
      if ((mode & 0600) != 0600 || (mode & ~0666) != 0) {
        throw new IllegalArgumentException(
            "host weights option mode is %04o; it must let the owner read and write, and nobody execute, such as 0660"
                .formatted(mode));
      }
    }
  }
}
