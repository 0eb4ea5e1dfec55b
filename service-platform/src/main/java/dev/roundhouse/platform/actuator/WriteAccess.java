package dev.roundhouse.platform.actuator;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.core.env.Environment;

/**
 * Which endpoints may change something, or have the process do something. The keys are Boot's own;
 * unlike Boot's, their default here is read-only.
 */
public final class WriteAccess {
  /** For models' weights. */
  public static final String MODELS = "management.endpoint.models.access";

  /** For what is pinned to the device. */
  public static final String RESIDENCY = "management.endpoint.residency.access";

  /** For which models are loaded. */
  public static final String REPOSITORY = "management.endpoint.repository.access";

  /** For whether the worker takes new work. */
  public static final String DRAIN = "management.endpoint.drain.access";

  /** For recordings of Flight Recorder. */
  public static final String RECORDING = "management.endpoint.recording.access";

  private WriteAccess() {}

  /** True when an operator has granted it. */
  public static boolean isGranted(Environment environment, String key) {
    return environment.getProperty(key, Access.class, Access.READ_ONLY) == Access.UNRESTRICTED;
  }

  /** What an operator has to do to grant it. */
  public static String grant(String process, String key) {
    return "start the %s with %s=unrestricted, on a management port that only operators reach"
        .formatted(process, key);
  }

  /**
   * What is answered while it is not granted.
   *
   * @param what cannot be changed, as in {@code the weight of model 'm'}
   * @param process to be started with the key
   */
  public static String refusal(String what, String process, String key) {
    return "%s cannot be changed here: this endpoint is read-only; %s"
        .formatted(what, grant(process, key));
  }
}
