package dev.roundhouse.platform.operators;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;

/** {@code /actuator/scheduler}: what runs and what waits at the workers. */
@Endpoint(id = "scheduler")
public final class WorkersScheduler {
  private final WorkersDocuments documents;

  public WorkersScheduler(AnsweredFor others) {
    documents = new WorkersDocuments(others, "/actuator/scheduler");
  }

  @ReadOperation
  public WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return documents.read(worker);
  }
}
