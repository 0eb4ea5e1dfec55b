package dev.roundhouse.worker.actuator;

import com.fasterxml.jackson.annotation.JsonInclude;
import dev.roundhouse.platform.audit.Audit;
import dev.roundhouse.worker.lifecycle.Readiness;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;

/** {@code /actuator/drain}: whether the worker turns new work away by not being ready. */
@Endpoint(id = "drain")
public final class DrainEndpoint {
  private final Readiness readiness;

  public DrainEndpoint(Readiness readiness) {
    this.readiness = readiness;
  }

  @ReadOperation
  public Drain read() {
    Instant since = readiness.drainingSince();
    return new Drain(since != null, since, readiness.isReady());
  }

  /** Is not ready from now on, and serves on what still comes; or is as ready as it was. */
  @WriteOperation
  public WebEndpointResponse<Object> change(@Nullable Boolean draining) {
    if (draining == null) {
      return refused(400, "nothing is asked; send {\"draining\": true}, or false to serve again");
    }
    if (readiness.isStopping()) {
      return refused(409, "the worker stops, and is not ready any more");
    }
    boolean before = readiness.drainingSince() != null;
    readiness.drain(draining);
    Audit.changed("whether the worker is drained", before, draining);
    return new WebEndpointResponse<>(read(), 200);
  }

  private static WebEndpointResponse<Object> refused(int status, String error) {
    return new WebEndpointResponse<>(Map.of("error", error), status);
  }

  /**
   * Whether new work is turned away.
   *
   * @param since null while it is not
   * @param ready what the worker says to whoever asks whether it takes requests
   */
  @JsonInclude
  public record Drain(boolean draining, @Nullable Instant since, boolean ready) {}
}
