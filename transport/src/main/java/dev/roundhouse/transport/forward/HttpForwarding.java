package dev.roundhouse.transport.forward;

import io.grpc.Status;
import java.time.Duration;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * Settings shared by all forwarded HTTP requests. Immutable.
 *
 * @param memory shared by them
 * @param maxBodyBytes of a request
 * @param remedy told to a client whose body is larger
 * @param code HTTP code for the status of a request that no server has answered
 * @param headers names of our headers
 * @param tls null for plain text
 * @param silence of a server's kernel, after which a connection is lost
 * @param idle time without a request after which a connection is closed; shorter than servers'
 */
public record HttpForwarding(
    ForwardingBudget memory,
    long maxBodyBytes,
    String remedy,
    ToIntFunction<Status.Code> code,
    Headers headers,
    @Nullable UpstreamTls tls,
    Duration silence,
    Duration idle) {

  /**
   * Lower-case header names. A client's headers of the first three names are not passed on.
   *
   * @param sealed tells servers {@link dev.roundhouse.transport.access.CallerRights#sealed}, in
   *     place of what the client has shown
   * @param caller tells servers the caller's number
   * @param spent tells every server but the first how many nanoseconds ago the whole request had
   *     arrived
   * @param keeps by which a server forbids asking another
   * @param refusal by which it says what its refusal is about
   */
  public record Headers(String sealed, String caller, String spent, String keeps, String refusal) {}
}
