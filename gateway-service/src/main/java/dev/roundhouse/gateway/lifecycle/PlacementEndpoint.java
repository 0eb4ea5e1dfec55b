package dev.roundhouse.gateway.lifecycle;

import com.google.common.base.CaseFormat;
import com.google.common.base.Converter;
import dev.roundhouse.gateway.schedule.SchedulingControl;
import dev.roundhouse.platform.rest.ProtoJson;
import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;
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

  @ReadOperation
  public JsonNode placement() {
    return renamed(ProtoJson.of(control.status()));
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
