package dev.roundhouse.platform.page;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.springframework.boot.web.server.context.WebServerApplicationContext;
import org.springframework.context.SmartLifecycle;

/** Ends open pages when the process stops: Tomcat would wait for them until the drain is over. */
public final class PageEnd implements SmartLifecycle {
  private final CountDownLatch end = new CountDownLatch(1);

  /** Waits for the end, but no longer than said; true when it has come. */
  public boolean await(Duration most) {
    try {
      return end.await(most.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return true;
    }
  }

  /** Before the servers stop. */
  @Override
  public int getPhase() {
    return WebServerApplicationContext.GRACEFUL_SHUTDOWN_PHASE + 1;
  }

  @Override
  public void start() {
    // pages come by themselves
  }

  @Override
  public void stop() {
    end.countDown();
  }

  @Override
  public boolean isRunning() {
    return end.getCount() > 0;
  }
}
