package dev.roundhouse.platform.operators;

import dev.roundhouse.platform.config.EffectiveSettings;
import java.io.IOException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.core.io.Resource;
import tools.jackson.databind.json.JsonMapper;

/**
 * {@code /actuator/settings}: which settings are not at their defaults, of the process itself and
 * of its workers.
 */
@Endpoint(id = "settings")
public final class WorkersSettings {
  private static final JsonMapper JSON = new JsonMapper();

  private final WorkersDocuments documents;
  private final EffectiveSettings own;

  public WorkersSettings(AnsweredFor others, EffectiveSettings own) {
    documents = new WorkersDocuments(others, "/actuator/settings");
    this.own = own;
  }

  @ReadOperation
  public WebEndpointResponse<Resource> read(@Nullable String worker) throws IOException {
    return documents.read(worker, "\"settings\":" + JSON.writeValueAsString(own.read()) + ",");
  }
}
