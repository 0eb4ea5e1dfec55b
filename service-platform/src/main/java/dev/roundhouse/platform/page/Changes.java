package dev.roundhouse.platform.page;

import dev.roundhouse.platform.actuator.WriteAccess;
import org.springframework.core.env.Environment;
import tools.jackson.core.JsonGenerator;

/**
 * What may be changed on the operators' port, which the page then offers.
 *
 * @param weight of a model
 * @param pinned whether a model's weights stay on the device
 * @param loaded whether a model is loaded
 * @param draining whether a worker turns new work away
 */
public record Changes(boolean weight, boolean pinned, boolean loaded, boolean draining) {

  /** As the operator has granted it. */
  public static Changes of(Environment environment) {
    return new Changes(
        WriteAccess.isGranted(environment, WriteAccess.MODELS),
        WriteAccess.isGranted(environment, WriteAccess.RESIDENCY),
        WriteAccess.isGranted(environment, WriteAccess.REPOSITORY),
        WriteAccess.isGranted(environment, WriteAccess.DRAIN));
  }

  /** Writes the property {@code changes}. */
  public void write(JsonGenerator json) {
    json.writeObjectPropertyStart("changes");
    json.writeBooleanProperty("weight", weight);
    json.writeBooleanProperty("pinned", pinned);
    json.writeBooleanProperty("loaded", loaded);
    json.writeBooleanProperty("draining", draining);
    json.writeEndObject();
  }
}
