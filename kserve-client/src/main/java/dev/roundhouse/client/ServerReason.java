package dev.roundhouse.client;

import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.status.WireException.About;
import io.grpc.Metadata;
import java.util.Map;

/**
 * Details that a Roundhouse server sends with a status, so clients need not parse messages. Other
 * servers send none.
 *
 * @param about what it refuses for; empty when it does not say
 * @param began whether the request may be what ended the server
 */
record ServerReason(String about, boolean began) {
  static final ServerReason NONE = new ServerReason("", false);

  private static final Metadata.Key<String> ABOUT =
      Metadata.Key.of(WireException.ABOUT, Metadata.ASCII_STRING_MARSHALLER);
  private static final Metadata.Key<String> BEGAN =
      Metadata.Key.of(WireException.BEGAN, Metadata.ASCII_STRING_MARSHALLER);

  static ServerReason of(Metadata trailers) {
    String about = trailers.get(ABOUT);
    return new ServerReason(about == null ? "" : about, trailers.containsKey(BEGAN));
  }

  /** Of an answer in a stream that tells of an error. */
  static ServerReason of(Map<String, InferParameter> parameters) {
    InferParameter about = parameters.get("roundhouse_about");
    return new ServerReason(
        about == null ? "" : about.getStringParam(), parameters.containsKey("roundhouse_began"));
  }

  /** Whether the request must not be retried. */
  boolean isFinal() {
    return began || about.equals(About.REQUEST.text());
  }

  /** Whether the server does not have the region that the request names. */
  boolean isRegion() {
    return about.equals(About.REGION.text());
  }

  boolean isSaid() {
    return !about.isEmpty() || began;
  }
}
