package dev.roundhouse.platform.process;

import com.sun.management.UnixOperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicBoolean;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * How many of the process's file descriptors connections of clients may take: few enough that
 * models can be loaded and health is answered whatever clients do. gRPC and HTTP have one half
 * each. Immutable.
 */
public final class DescriptorShare {
  private static final Logger log = LoggerFactory.getLogger(DescriptorShare.class);
  private static final AtomicBoolean SAID = new AtomicBoolean();

  /**
   * For what is open in a process that serves: its jars, its device, loops, logs, the port for
   * operators.
   */
  private static final long LEAST_RESERVE = 192;

  /** Or a part of all, for models that are loaded and workers that are asked. */
  private static final int RESERVED_PART = 4;

  private static final int SHARES = 2;

  private static final DescriptorShare OF_PROCESS = new DescriptorShare(limitOfProcess());

  private final long limit;

  /**
   * @param limit descriptors that the process may have
   */
  DescriptorShare(long limit) {
    this.limit = limit;
  }

  public static DescriptorShare ofProcess() {
    return OF_PROCESS;
  }

  private static long limitOfProcess() {
    return ManagementFactory.getOperatingSystemMXBean() instanceof UnixOperatingSystemMXBean unix
        ? unix.getMaxFileDescriptorCount()
        : Long.MAX_VALUE;
  }

  /**
   * Connections that one protocol may have.
   *
   * @param configured that it may have at most
   * @param descriptors that each may take
   */
  public int connections(int configured, int descriptors) {
    long reserve = Math.max(LEAST_RESERVE, limit / RESERVED_PART);
    long fitting = Math.max(1, (limit - reserve) / SHARES / descriptors);
    if (fitting < configured && SAID.compareAndSet(false, true)) {
      log.info(
          "The process may have {} files open, which is enough for fewer connections than are configured; raise the limit (ulimit -n) for more.",
          limit);
    }
    return (int) Math.min(configured, fitting);
  }
}
