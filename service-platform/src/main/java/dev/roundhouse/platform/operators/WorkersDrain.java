package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;
import tools.jackson.databind.node.JsonNodeFactory;

/** {@code /actuator/drain}: which workers turn new work away, changed for one worker at a time. */
@Endpoint(id = "drain")
public final class WorkersDrain {
  private static final String PATH = "/actuator/drain";
  private static final int BAD_REQUEST = 400;

  private final WorkersDocuments documents;
  private final WorkersChange change;

  public WorkersDrain(AnsweredFor others) {
    documents = new WorkersDocuments(others, PATH);
    change = new WorkersChange(others, PATH, Duration.ZERO);
  }

  @ReadOperation
  public WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return documents.read(worker);
  }

  /** Drains one worker, or has it serve again: with all of them drained nothing would be served. */
  @WriteOperation
  public WebEndpointResponse<Resource> change(@Nullable Boolean draining, @Nullable String worker)
      throws IOException {
    if (worker == null) {
      return WorkersQuestion.refusal(
          BAD_REQUEST, "no worker is named, and one is drained at a time; add ?worker=NAME");
    }
    return change.ofWorker(
        worker,
        "drain of worker '%s'".formatted(worker),
        JsonNodeFactory.instance.objectNode().put("draining", draining));
  }
}
