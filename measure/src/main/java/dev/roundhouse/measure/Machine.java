package dev.roundhouse.measure;

import java.lang.management.ManagementFactory;

/**
 * What figures depend on.
 *
 * @param load how many threads wanted to run, on average over the last minute; negative if unknown
 */
public record Machine(int vcpus, double load, String java) {

  public static Machine now() {
    return new Machine(
        Runtime.getRuntime().availableProcessors(),
        ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage(),
        System.getProperty("java.vm.version", "?"));
  }

  /** True when others are at work: ratios spread, and no vCPU is cold. */
  public boolean isBusy() {
    return load > vcpus / 2.0;
  }

  @Override
  public String toString() {
    String machine = "%d vCPUs, load average %.1f, Java %s".formatted(vcpus, load, java);
    return isBusy()
        ? machine + "; others are at work here: trust CPU before time, and expect a wide spread"
        : machine;
  }
}
