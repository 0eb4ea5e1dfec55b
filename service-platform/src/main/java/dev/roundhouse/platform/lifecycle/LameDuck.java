package dev.roundhouse.platform.lifecycle;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.core.Ordered;

/**
 * What an application does first when it is told to stop: it says that it is not ready, and serves
 * on for a while, so that load balancers have sent their calls elsewhere before connections are
 * closed. Only then do the others hear that it stops.
 */
public final class LameDuck implements ApplicationListener<ContextClosedEvent>, Ordered {
  private static final Logger log = LoggerFactory.getLogger(LameDuck.class);

  private final ApplicationContext context;
  private final Runnable notReady;
  private final Duration time;
  private final CountDownLatch over = new CountDownLatch(1);

  /**
   * @param notReady says so, from then on
   * @param time how long to serve on; zero stops at once
   */
  public LameDuck(ApplicationContext context, Runnable notReady, Duration time) {
    this.context = context;
    this.notReady = notReady;
    this.time = time;
  }

  /** Ends the wait, or has it not begin. Any thread. */
  public void end() {
    over.countDown();
  }

  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    // A context within this one closes too.
    if (event.getApplicationContext() != context) {
      return;
    }
    notReady.run();
    if (time.isZero()) {
      return;
    }
    log.info("not ready from now on; calls are served for {} s more", time.toMillis() / 1000.0);
    try {
      var unused = over.await(time.toNanos(), TimeUnit.NANOSECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt(); // stops at once
    }
  }

  /** Before every other listener: those stop what they have. */
  @Override
  public int getOrder() {
    return HIGHEST_PRECEDENCE;
  }
}
