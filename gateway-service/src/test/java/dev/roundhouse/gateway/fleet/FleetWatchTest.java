package dev.roundhouse.gateway.fleet;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Looks that are not over when a round is, on the watch's own thread. */
@Timeout(60)
class FleetWatchTest {
  private static final InetSocketAddress CLOSED =
      new InetSocketAddress(InetAddress.getLoopbackAddress(), 1);
  private static final WorkerAddress NOBODY = new WorkerAddress("w0", CLOSED, CLOSED, CLOSED, null);

  private final CompletableFuture<WorkerLook> first = new CompletableFuture<>();
  private final AtomicInteger asked = new AtomicInteger();
  private final BlockingQueue<WorkerLook> told = new LinkedBlockingQueue<>();

  private FleetWatch watch(Duration interval) {
    FleetWatch watch =
        new FleetWatch(
            () -> List.of(NOBODY),
            worker -> new WorkerLink(worker, WorkerTls.NONE, Duration.ofSeconds(1)),
            interval,
            Duration.ofSeconds(1),
            look -> asked.getAndIncrement() == 0 ? first : look,
            looks -> told.add(looks.getFirst()));
    watch.start();
    return watch;
  }

  private WorkerLook next() throws InterruptedException {
    return Objects.requireNonNull(told.poll(20, TimeUnit.SECONDS), "nothing was told");
  }

  @Test
  void shouldReadALookThatEndsBetweenTwoRounds() throws Exception {
    try (FleetWatch unused = watch(Duration.ofMinutes(10))) {
      WorkerLook before = next();
      assertThat(before.failure()).isEqualTo("not asked yet");
      first.complete(before.notReady("it was slow"));
      assertThat(next().failure()).isEqualTo("it was slow");
    }
  }

  @Test
  void shouldAskAgainWhenALateLookHasFailed() throws Exception {
    try (FleetWatch unused = watch(Duration.ofMillis(100))) {
      next();
      first.completeExceptionally(new OutOfMemoryError("of a test"));
      WorkerLook look = next();
      while (look.failure().equals("not asked yet")) {
        look = next();
      }
      assertThat(look.failure()).startsWith("UNAVAILABLE");
    }
  }
}
