package dev.roundhouse.worker.wiring;

import dev.roundhouse.engine.transport.Transport;
import dev.roundhouse.platform.rest.HttpFront;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A server of HTTP: Boot's web server of the application, or one that is ours to start. */
final class HttpTransport implements Transport {
  private final String name;
  private final HttpFront front;
  private final boolean isBoots;

  /**
   * @param isBoots whether Boot starts it
   */
  HttpTransport(String name, HttpFront front, boolean isBoots) {
    this.name = name;
    this.isBoots = isBoots;
    this.front = front;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void start() {
    if (!isBoots) {
      front.start();
    }
  }

  @Override
  public List<Integer> ports() {
    return front.getPort() < 0 ? List.of() : List.of(front.getPort());
  }

  /** Makes clients go elsewhere, while they are still served. */
  void leave() {
    front.leave();
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
