package dev.roundhouse.platform.page;

import dev.roundhouse.platform.actuator.WriteAccess;
import org.springframework.core.env.Environment;
import tools.jackson.core.JsonGenerator;

/**
 * What an operator may do on the port, which the page then offers.
 *
 * @param weight change a model's weight
 * @param pinned keep a model's weights on the device, or let them leave
 * @param loaded load a model, or take it out of service
 * @param draining have a worker turn new work away, or serve again
 * @param recording have a worker record itself with Flight Recorder
 */
public record Changes(
    boolean weight, boolean pinned, boolean loaded, boolean draining, boolean recording) {

  /** As the operator has granted it. */
  public static Changes of(Environment environment) {
    return new Changes(
        WriteAccess.isGranted(environment, WriteAccess.MODELS),
        WriteAccess.isGranted(environment, WriteAccess.RESIDENCY),
        WriteAccess.isGranted(environment, WriteAccess.REPOSITORY),
        WriteAccess.isGranted(environment, WriteAccess.DRAIN),
        WriteAccess.isGranted(environment, WriteAccess.RECORDING));
  }

  /** Writes the property {@code changes}. */
  public void write(JsonGenerator json) {
    json.writeObjectPropertyStart("changes");
    json.writeBooleanProperty("weight", weight);
    json.writeBooleanProperty("pinned", pinned);
    json.writeBooleanProperty("loaded", loaded);
    json.writeBooleanProperty("draining", draining);
    json.writeBooleanProperty("recording", recording);
    json.writeEndObject();
  }
}
