package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.platform.rest.HttpFront;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** HTTP, which Boot starts as the web server of the application. */
final class HttpTransport implements Transport {
  private final HttpFront front;

  HttpTransport(HttpFront front) {
    this.front = front;
  }

  @Override
  public String name() {
    return "http";
  }

  @Override
  public void start() {
    // Boot has done it
  }

  @Override
  public List<Integer> ports() {
    return front.getPort() < 0 ? List.of() : List.of(front.getPort());
  }

  @Override
  public void drain() {
    front.drain(() -> {});
  }

  @Override
  public void stop(Duration budget) throws InterruptedException {
    CountDownLatch idle = new CountDownLatch(1);
    front.drain(idle::countDown);
    try {
      var unused = idle.await(budget.toNanos(), TimeUnit.NANOSECONDS);
    } finally {
      front.close();
    }
  }
}
