package dev.roundhouse.platform.operators;

import java.io.IOException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.annotation.Selector;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * {@code /actuator/residency}: whose weights are on the workers' devices; and whether a model's
 * stay there.
 */
@Endpoint(id = "residency")
public final class WorkersResidency {
  private static final String PATH = "/actuator/residency";

  /** A worker answers when the weights have come, or after 10 s. */
  private static final Duration LOAD = Duration.ofSeconds(10);

  private final WorkersDocuments documents;
  private final WorkersChange change;

  public WorkersResidency(AnsweredFor others) {
    documents = new WorkersDocuments(others, PATH);
    change = new WorkersChange(others, PATH, LOAD);
  }

  @ReadOperation
  public WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return documents.read(worker);
  }

  /** Pins a model at every worker that has it, or at one, or lets its weights leave. */
  @WriteOperation
  public WebEndpointResponse<Resource> change(
      @Selector String name, @Nullable Boolean pinned, @Nullable String worker) throws IOException {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("pinned", pinned);
    return change.ofModel(name, worker, "pin of model '%s'".formatted(name), body);
  }
}
