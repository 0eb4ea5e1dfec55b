package dev.roundhouse.node.process;

import dev.roundhouse.node.devices.DeviceMemory;
import dev.roundhouse.node.devices.DeviceMonitor;
import java.time.Duration;
import java.util.Locale;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Delays a start until the driver has reclaimed the device's memory from the previous process,
 * which takes seconds. After a while the process starts anyway, with a warning. Upstream waits once
 * at the beginning; here every restart waits.
 */
public final class MemoryGate implements StartGate {
  private static final Logger log = LoggerFactory.getLogger(MemoryGate.class);

  private final String process;
  private final String device;
  private final DeviceMonitor monitor;
  private final Duration patience;
  private final double maxUsedPercent;

  /**
   * @param process for the log
   * @param patience how long to wait; zero for not at all
   */
  public MemoryGate(
      String process,
      String device,
      DeviceMonitor monitor,
      Duration patience,
      double maxUsedPercent) {
    this.process = process;
    this.device = device;
    this.monitor = monitor;
    this.patience = patience;
    this.maxUsedPercent = maxUsedPercent;
  }

  @Override
  public boolean mayStart(long sinceNanos, long nowNanos) {
    if (patience.isZero()) {
      return true;
    }
    DeviceMonitor.Reading reading = monitor.latest();
    DeviceMemory memory = reading.memory().get(device);
    boolean read = reading.isSince(sinceNanos);
    if (read && (memory == null || memory.usedPercent() <= maxUsedPercent)) {
      return true;
    }
    if (nowNanos - sinceNanos < patience.toNanos()) {
      return false;
    }
    log.warn(
        "{} starts although GPU {} {} after {} s; its memory may not suffice",
        process,
        device,
        read && memory != null
            ? String.format(Locale.ROOT, "is still %.1f %% full", memory.usedPercent())
            : "has not said how full it is",
        patience.toSeconds());
    return true;
  }
}
