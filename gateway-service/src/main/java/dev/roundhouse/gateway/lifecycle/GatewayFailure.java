package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.platform.lifecycle.FailStopExit;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntConsumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.ApplicationContext;

/**
 * The end of a gateway whose server has lost a thread: connections hang, and others may not be
 * accepted any more. Thread-safe.
 */
public final class GatewayFailure {
  private static final Logger log = LoggerFactory.getLogger(GatewayFailure.class);

  private final FailStopExit end;

  /**
   * @param exit ends the process with a code, without waiting for anything
   */
  public GatewayFailure(GatewayReadiness readiness, ApplicationContext context, IntConsumer exit) {
    end = new FailStopExit(context, readiness::fail, exit);
  }

  /** Ends the gateway; the first cause counts. Any thread; returns at once. */
  public void fail(Throwable cause) {
    if (end.begin(CompletableFuture.completedFuture(null))) {
      log.error("the gateway fails and stops: its calls end with their connections", cause);
    }
  }
}
