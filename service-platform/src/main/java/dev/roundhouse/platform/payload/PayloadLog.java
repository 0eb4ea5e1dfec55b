package dev.roundhouse.platform.payload;

import dev.roundhouse.platform.access.NamePatterns;
import dev.roundhouse.platform.payload.PayloadLogProperties.Mode;
import java.util.Arrays;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.ssl.SslBundles;

/**
 * Chooses what is sent to the collector, keeps it in a queue of bounded bytes, and has it sent.
 * Handing over never waits. Thread-safe.
 */
public final class PayloadLog implements AutoCloseable {
  /** How long an application that stops goes on sending. */
  private static final long LAST_MILLIS = 2_000;

  private static final int PRIORITY = Thread.MIN_PRIORITY;

  private final PayloadLogProperties settings;
  private final NamePatterns models;
  private final PayloadSender sender;
  private final BlockingQueue<PayloadEvent> queue = new LinkedBlockingQueue<>();
  private final AtomicLong waiting = new AtomicLong();
  private final LongAdder sent = new LongAdder();
  private final LongAdder retried = new LongAdder();
  private final LongAdder[] dropped = new LongAdder[Drop.values().length];
  private final Thread[] threads;
  private volatile boolean closed;

  /** Why an event never came to the collector. */
  public enum Drop {
    /** Too much waited. */
    FULL,
    /** A request or an answer that is passed on whole was too large, or its form is not known. */
    LARGE,
    /** The collector could not be reached, did not answer in time, or had no room, every time. */
    UNREACHED,
    /** The collector refused it. */
    REFUSED,
    /** Something was wrong here. */
    FAILED,
    /** It still waited when the application stopped. */
    STOPPED
  }

  private PayloadLog(PayloadLogProperties settings, PayloadSender sender) {
    this.settings = settings;
    this.sender = sender;
    models = new NamePatterns(settings.models());
    Arrays.setAll(dropped, i -> new LongAdder());
    threads = new Thread[settings.threads()];
    for (int i = 0; i < threads.length; i++) {
      threads[i] =
          Thread.ofPlatform()
              .daemon()
              .name("payload-log-" + i)
              .priority(PRIORITY)
              .unstarted(this::send);
    }
  }

  /**
   * Null when nothing is sent.
   *
   * @param key of the settings
   * @param source of events, where the settings say none
   * @throws dev.roundhouse.platform.config.StartRefusedException when the settings cannot work
   */
  public static @Nullable PayloadLog of(
      PayloadLogProperties settings, String key, String source, SslBundles bundles) {
    if (!settings.isOn()) {
      return null;
    }
    PayloadLog log = new PayloadLog(settings, PayloadSender.of(settings, key, source, bundles));
    for (Thread each : log.threads) {
      each.start();
    }
    return log;
  }

  // --- what is sent

  /** Whether one of a model's requests is sent; asked once for each. */
  public boolean takes(String model) {
    return models.match(model)
        && !closed
        && (settings.sampleRatio() >= 1
            || ThreadLocalRandom.current().nextDouble() < settings.sampleRatio());
  }

  public boolean sendsRequests() {
    return settings.mode() != Mode.RESPONSE;
  }

  public boolean sendsAnswers() {
    return settings.mode() != Mode.REQUEST;
  }

  /** Bytes of a request's tensors, and of an answer's. */
  public int maxPayload() {
    return Math.toIntExact(settings.maxPayload().toBytes());
  }

  /** The caller's id of a request, or one of its own where there is none. */
  public static String idOr(String given) {
    if (!given.isEmpty()) {
      return given;
    }
    ThreadLocalRandom random = ThreadLocalRandom.current();
    return new UUID(random.nextLong(), random.nextLong()).toString();
  }

  /** Has an event sent, or drops it. Does not wait. */
  public void offer(PayloadEvent event) {
    if (closed) {
      drop(Drop.STOPPED);
      return;
    }
    if (take(event.heldBytes())) {
      queue.add(event);
    } else {
      drop(Drop.FULL);
    }
  }

  /** Counts bytes with what waits; false, counting none, when there is no room for them. */
  boolean take(long bytes) {
    if (waiting.addAndGet(bytes) <= settings.maxWaiting().toBytes()) {
      return true;
    }
    waiting.addAndGet(-bytes);
    return false;
  }

  void giveBack(long bytes) {
    waiting.addAndGet(-bytes);
  }

  /** Counts an event that is not even offered. */
  public void drop(Drop why) {
    dropped[why.ordinal()].increment();
  }

  // --- the threads

  private void send() {
    while (true) {
      try {
        PayloadEvent event = queue.take();
        try {
          settle(event);
        } finally {
          waiting.addAndGet(-event.heldBytes());
        }
      } catch (InterruptedException e) {
        return;
      }
    }
  }

  private void settle(PayloadEvent event) throws InterruptedException {
    Drop failure;
    try {
      failure = sender.send(event, retried::increment);
    } catch (InterruptedException e) {
      drop(Drop.STOPPED);
      throw e;
    } catch (RuntimeException | Error e) { // or the thread would be gone
      sender.warn("an event could not be made", e);
      failure = Drop.FAILED;
    }
    if (failure == null) {
      sent.increment();
    } else {
      drop(failure);
    }
  }

  // --- figures

  /** Events that the collector has taken. */
  public long sent() {
    return sent.sum();
  }

  /** Attempts after the first. */
  public long retried() {
    return retried.sum();
  }

  public long dropped(Drop why) {
    return dropped[why.ordinal()].sum();
  }

  /** Bytes of events that wait, or are being sent. */
  public long waitingBytes() {
    return waiting.get();
  }

  /** As a label. */
  public static String label(Drop why) {
    return why.name().toLowerCase(Locale.ROOT);
  }

  /** Sends for a while what waits, and drops the rest. */
  @Override
  public void close() {
    closed = true;
    long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(LAST_MILLIS);
    try {
      while (waiting.get() > 0 && System.nanoTime() < end) {
        TimeUnit.MILLISECONDS.sleep(10);
      }
      for (Thread each : threads) {
        each.interrupt();
      }
      for (Thread each : threads) {
        each.join(LAST_MILLIS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    for (PayloadEvent left = queue.poll(); left != null; left = queue.poll()) {
      waiting.addAndGet(-left.heldBytes());
      drop(Drop.STOPPED);
    }
    sender.close();
  }
}
