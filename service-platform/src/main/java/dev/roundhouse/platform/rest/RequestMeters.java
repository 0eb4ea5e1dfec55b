package dev.roundhouse.platform.rest;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Set;

/** Counts and times requests as Spring does, by the same name and with the same keys. */
final class RequestMeters {
  private static final Set<String> METHODS =
      Set.of("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE");
  private static final String NONE = "none";
  private static final String UNKNOWN = "UNKNOWN";
  private static final int NOT_FOUND = 404;
  private static final int HUNDRED = 100;

  private final ObservationRegistry observations;
  private final String name;

  RequestMeters(ObservationRegistry observations, String name) {
    this.observations = observations;
    this.name = name;
  }

  Observation begin(String method) {
    return Observation.createNotStarted(name, observations)
        .lowCardinalityKeyValue("exception", NONE)
        .lowCardinalityKeyValue("method", METHODS.contains(method) ? method : UNKNOWN)
        .lowCardinalityKeyValue("outcome", "SUCCESS")
        .lowCardinalityKeyValue("status", "200")
        .lowCardinalityKeyValue("uri", UNKNOWN)
        .start();
  }

  /**
   * @param template of the request's route; empty when it has none
   */
  void end(Observation request, int code, String template) {
    String none = code == NOT_FOUND ? "NOT_FOUND" : UNKNOWN;
    request
        .lowCardinalityKeyValue("outcome", outcome(code))
        .lowCardinalityKeyValue("status", Integer.toString(code))
        .lowCardinalityKeyValue("uri", template.isEmpty() ? none : template)
        .stop();
  }

  private static String outcome(int code) {
    return switch (code / HUNDRED) {
      case 1 -> "INFORMATIONAL";
      case 2 -> "SUCCESS";
      case 3 -> "REDIRECTION";
      case 4 -> "CLIENT_ERROR";
      case 5 -> "SERVER_ERROR";
      default -> UNKNOWN;
    };
  }
}
