package dev.roundhouse.measure;

/**
 * State of the vCPUs while something is measured. Waking a sleeping one costs a virtual machine
 * some 17 us, more than much of what is measured here, so a latency means nothing without it.
 */
public enum VcpuCondition {
  /** Nothing else runs: an idle vCPU sleeps and every hand-off wakes it. */
  COLD,
  /** A spinner of the lowest priority on each vCPU keeps all of them awake. */
  HOT;

  @Override
  public String toString() {
    return switch (this) {
      case COLD -> "cold";
      case HOT -> "hot";
    };
  }
}
