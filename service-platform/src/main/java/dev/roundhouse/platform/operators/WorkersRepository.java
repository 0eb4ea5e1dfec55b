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
 * {@code /actuator/repository}: what the workers' repositories have; and which models are loaded.
 */
@Endpoint(id = "repository")
public final class WorkersRepository {
  private static final String PATH = "/actuator/repository";

  /** A worker answers when the model is loaded or freed, or after 10 s. */
  private static final Duration LOAD = Duration.ofSeconds(10);

  private final WorkersDocuments documents;
  private final WorkersChange change;

  public WorkersRepository(AnsweredFor others) {
    documents = new WorkersDocuments(others, PATH);
    change = new WorkersChange(others, PATH, LOAD);
  }

  @ReadOperation
  public WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return documents.read(worker);
  }

  /** Loads a model at every worker whose repository has it, or at one, or unloads it. */
  @WriteOperation
  public WebEndpointResponse<Resource> change(
      @Selector String name,
      @Nullable Boolean loaded,
      @Nullable Boolean unloadDependents,
      @Nullable String worker)
      throws IOException {
    ObjectNode body = JsonNodeFactory.instance.objectNode().put("loaded", loaded);
    if (unloadDependents != null) {
      body.put("unloadDependents", unloadDependents);
    }
    return change.ofModel(name, worker, "load of model '%s'".formatted(name), body);
  }
}
