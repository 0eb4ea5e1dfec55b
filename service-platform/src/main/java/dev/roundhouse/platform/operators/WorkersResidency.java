package dev.roundhouse.platform.operators;

import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;

/** {@code /actuator/residency}: whose weights are on the workers' devices. */
@Endpoint(id = "residency")
public final class WorkersResidency {
  private final WorkersDocuments documents;

  public WorkersResidency(AnsweredFor others) {
    documents = new WorkersDocuments(others, "/actuator/residency");
  }

  @ReadOperation
  public WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return documents.read(worker);
  }
}
