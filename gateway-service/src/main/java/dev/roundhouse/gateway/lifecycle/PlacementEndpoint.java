package dev.roundhouse.gateway.lifecycle;

import com.google.common.base.CaseFormat;
import com.google.common.base.Converter;
import dev.roundhouse.gateway.schedule.SchedulingControl;
import dev.roundhouse.platform.rest.ProtoJson;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * {@code /actuator/placement}: workers, models and where they are placed, as GetSchedulingStatus,
 * with the names of fields written as in all that actuators answer.
 */
@Endpoint(id = "placement")
public final class PlacementEndpoint {
  private static final Converter<String, String> NAMES =
      CaseFormat.LOWER_UNDERSCORE.converterTo(CaseFormat.LOWER_CAMEL);

  private final SchedulingControl control;

  public PlacementEndpoint(SchedulingControl control) {
    this.control = control;
  }

  /**
   * What holds.
   *
   * @param replicas that are told of each model at most; null for all
   */
  @ReadOperation
  public WebEndpointResponse<JsonNode> placement(@Nullable Integer replicas) {
    int most = replicas == null ? Integer.MAX_VALUE : replicas;
    if (most < 0) {
      return new WebEndpointResponse<>(
          JsonNodeFactory.instance
              .objectNode()
              .put("error", "replicas is %d; it is 0 or more, or is left out".formatted(most)),
          WebEndpointResponse.STATUS_BAD_REQUEST);
    }
    return new WebEndpointResponse<>(renamed(ProtoJson.of(control.status(most))));
  }

  /** The status has no maps: every property is a field. */
  private static JsonNode renamed(JsonNode node) {
    if (node instanceof ArrayNode array) {
      ArrayNode elements = JsonNodeFactory.instance.arrayNode();
      array.forEach(element -> elements.add(renamed(element)));
      return elements;
    }
    if (node instanceof ObjectNode object) {
      ObjectNode fields = JsonNodeFactory.instance.objectNode();
      for (Map.Entry<String, JsonNode> field : object.properties()) {
        fields.set(String.valueOf(NAMES.convert(field.getKey())), renamed(field.getValue()));
      }
      return fields;
    }
    return node;
  }
}
