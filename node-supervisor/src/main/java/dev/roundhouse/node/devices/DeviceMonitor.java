package dev.roundhouse.node.devices;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Polls device memory on the thread {@code devices}, so that neither the supervisor nor a scrape
 * waits for a driver. Thread-safe.
 */
public final class DeviceMonitor implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DeviceMonitor.class);

  private final List<String> ids;
  private final MemoryReader reader;
  private final LongSupplier clock;
  private final ScheduledExecutorService devices =
      Executors.newSingleThreadScheduledExecutor(
          Thread.ofPlatform().daemon().name("devices").factory());
  private volatile Reading latest = Reading.NONE;

  /**
   * @param begunNanos when the read began, on the clock; processes that ended earlier are not in it
   */
  public record Reading(boolean taken, long begunNanos, Map<String, DeviceMemory> memory) {
    static final Reading NONE = new Reading(false, 0, Map.of());

    /** Whether it was read at that moment or later. */
    public boolean isSince(long nanos) {
      return taken && begunNanos - nanos >= 0;
    }
  }

  /**
   * @param clock nanoseconds, as {@link System#nanoTime}
   */
  public DeviceMonitor(List<String> ids, MemoryReader reader, LongSupplier clock) {
    this.ids = List.copyOf(ids);
    this.reader = reader;
    this.clock = clock;
  }

  /** Starts reading, with this pause after each reading. Without devices it does nothing. */
  public void start(Duration interval) {
    if (!ids.isEmpty()) {
      devices.scheduleWithFixedDelay(this::look, 0, interval.toNanos(), TimeUnit.NANOSECONDS);
    }
  }

  /** Reads once. */
  public void look() {
    long begun = clock.getAsLong();
    Map<String, DeviceMemory> memory = Map.of();
    try {
      memory = Map.copyOf(reader.read(ids));
    } catch (RuntimeException | Error e) {
      log.error("the memory of the devices could not be read", e);
    }
    latest = new Reading(true, begun, memory);
  }

  public Reading latest() {
    return latest;
  }

  public List<String> ids() {
    return ids;
  }

  @Override
  public void close() {
    devices.shutdownNow();
  }
}
