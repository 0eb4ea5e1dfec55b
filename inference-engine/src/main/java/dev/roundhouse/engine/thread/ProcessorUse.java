package dev.roundhouse.engine.thread;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;

/**
 * Looks for a while at what the threads of this process do with its processors, the native ones
 * too, by Linux' own count. It tells a loop that never ends from a thread that waits for ever, and
 * both from processors that others have.
 */
public final class ProcessorUse {
  private static final Path THREADS = Path.of("/proc/self/task");
  private static final Path MACHINE = Path.of("/proc/stat");

  /** Where the first line of {@link #MACHINE} has what the host took, in ticks. */
  private static final int STOLEN = 8;

  private static final long TICK_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

  /** A thread is named from this part of the time on. */
  private static final int LEAST_PART = 10;

  private final Map<String, long[]> threads = new HashMap<>();
  private final long stolenTicks;

  private ProcessorUse() throws IOException {
    try (DirectoryStream<Path> all = Files.newDirectoryStream(THREADS)) {
      for (Path thread : all) {
        try {
          String[] counts = Files.readString(thread.resolve("schedstat")).split(" ");
          threads.put(
              thread.getFileName().toString(),
              new long[] {Long.parseLong(counts[0]), Long.parseLong(counts[1])});
        } catch (IOException ended) {
          // it had nothing to do with what goes on now
        }
      }
    }
    if (threads.values().stream().allMatch(counts -> counts[0] == 0)) {
      throw new IOException("the kernel does not count what threads compute");
    }
    try (var lines = Files.lines(MACHINE)) {
      String[] counts = lines.findFirst().orElseThrow().trim().split(" +");
      stolenTicks = counts.length > STOLEN ? Long.parseLong(counts[STOLEN]) : 0;
    }
  }

  /**
   * Takes that long.
   *
   * @return such as {@code in 200 ms thread 71 'dispatch' computed for 190 ms and waited 0 ms for a
   *     processor}
   */
  public static String look(Duration time) {
    try {
      ProcessorUse before = new ProcessorUse();
      Thread.sleep(time);
      return "in %d ms %s".formatted(time.toMillis(), new ProcessorUse().since(before, time));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return unknown(e);
    } catch (IOException | RuntimeException e) {
      return unknown(e);
    }
  }

  private static String unknown(Exception why) {
    return "what threads do is not known: " + why;
  }

  private String since(ProcessorUse before, Duration time) {
    long least = time.toNanos() / LEAST_PART;
    StringJoiner told = new StringJoiner(", ");
    told.setEmptyValue("no thread of this process computed");
    threads.forEach(
        (thread, now) -> {
          long[] then = before.threads.getOrDefault(thread, new long[2]);
          long ran = now[0] - then[0];
          long waited = now[1] - then[1];
          if (ran + waited >= least) {
            told.add(
                "thread %s '%s' computed for %d ms and waited %d ms for a processor"
                    .formatted(thread, name(thread), millis(ran), millis(waited)));
          }
        });
    long stolen = (stolenTicks - before.stolenTicks) * TICK_NANOS;
    return stolen >= least
        ? "%s; the host kept processors for %d ms".formatted(told, millis(stolen))
        : told.toString();
  }

  private static String name(String thread) {
    try {
      return Files.readString(THREADS.resolve(thread).resolve("comm")).strip();
    } catch (IOException e) {
      return "ended";
    }
  }

  private static long millis(long nanos) {
    return TimeUnit.NANOSECONDS.toMillis(nanos);
  }
}
