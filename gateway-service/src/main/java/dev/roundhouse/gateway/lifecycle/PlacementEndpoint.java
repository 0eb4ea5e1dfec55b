package dev.roundhouse.gateway.lifecycle;

import dev.roundhouse.gateway.schedule.SchedulingControl;
import dev.roundhouse.platform.rest.ProtoJson;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import tools.jackson.databind.JsonNode;

/**
 * {@code /actuator/placement}: workers, models and where they are placed, as GetSchedulingStatus.
 */
@Endpoint(id = "placement")
public final class PlacementEndpoint {
  private final SchedulingControl control;

  public PlacementEndpoint(SchedulingControl control) {
    this.control = control;
  }

  @ReadOperation
  public JsonNode placement() {
    return ProtoJson.of(control.status());
  }
}
