package dev.roundhouse.platform.payload;

import dev.roundhouse.platform.access.NamePatterns;
import dev.roundhouse.platform.payload.PayloadLogProperties.Mode;
import dev.roundhouse.transport.io.Seldom;
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
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ssl.SslBundles;

/**
 * Chooses what is sent to the collector, keeps it in a queue of bounded bytes, and has it sent.
 * Handing over never waits. Thread-safe.
 */
public final class PayloadLog implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(PayloadLog.class);

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
  private final Seldom failures = new Seldom();
  private volatile boolean closed;

  /** The threads have ended. */
  private volatile boolean over;

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
              .unstarted(this::sendAll);
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
    PayloadLog made = new PayloadLog(settings, PayloadSender.of(settings, key, source, bundles));
    for (Thread each : made.threads) {
      each.start();
    }
    return made;
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

  /** Has an event sent, or drops it. Does not wait, and throws nothing. */
  public void offer(PayloadEvent event) {
    try (PayloadRoom room = room(event.body().heldBytes())) {
      if (room != null) {
        room.offer(event);
      }
    } catch (RuntimeException | Error e) {
      failed(e);
    }
  }

  /**
   * Takes room for an event, before anything is copied for it.
   *
   * @param bytes that its body will hold
   * @return to be closed; null when there is none, and the event has been counted as dropped
   */
  public @Nullable PayloadRoom room(long bytes) {
    if (closed) {
      drop(Drop.STOPPED);
      return null;
    }
    PayloadRoom room = new PayloadRoom(this);
    if (room.take(PayloadEvent.OWN_BYTES + bytes)) {
      return room;
    }
    drop(Drop.FULL);
    return null;
  }

  /** Its bytes have been taken. */
  void add(PayloadEvent event) {
    queue.add(event);
    if (over) { // nobody takes it out any more
      dropLeft();
    }
  }

  boolean isClosed() {
    return closed;
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

  /** Counts an event that could not be copied or made, and says why. Throws nothing. */
  public void failed(Throwable why) {
    drop(Drop.FAILED);
    warn(why);
  }

  /** Once a minute. */
  void warn(Throwable why) {
    try {
      if (failures.isTime()) {
        log.warn("a request or an answer could not be copied for the collector", why);
      }
    } catch (Throwable unsaid) {
      // there is no memory to say it in either, and it is counted
    }
  }

  // --- the threads

  private void sendAll() {
    while (true) {
      try {
        PayloadEvent event = queue.take();
        try {
          settle(event);
        } finally {
          giveBack(event.heldBytes());
        }
      } catch (InterruptedException e) { // nobody interrupts but the end
        return;
      } catch (RuntimeException | Error e) { // of the queue: events still wait
        warn(e);
      }
    }
  }

  /** Counts an event once, whatever becomes of it. */
  private void settle(PayloadEvent event) throws InterruptedException {
    Drop why = Drop.FAILED;
    try {
      why = sender.send(event, retried::increment);
    } catch (InterruptedException e) {
      why = Drop.STOPPED;
      throw e;
    } catch (RuntimeException | Error e) {
      warn(e);
    } finally {
      if (why == null) {
        sent.increment();
      } else {
        drop(why);
      }
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
    over = true;
    dropLeft();
    sender.close();
  }

  private void dropLeft() {
    for (PayloadEvent left = queue.poll(); left != null; left = queue.poll()) {
      giveBack(left.heldBytes());
      drop(Drop.STOPPED);
    }
  }
}
