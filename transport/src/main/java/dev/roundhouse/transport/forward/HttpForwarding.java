package dev.roundhouse.transport.forward;

import io.grpc.Status;
import io.netty.handler.ssl.SslContext;
import java.time.Duration;
import java.util.function.ToIntFunction;
import org.jspecify.annotations.Nullable;

/**
 * What all requests over HTTP that are sent on have in common. Immutable.
 *
 * @param memory that they may hold together
 * @param maxBodyBytes of a request
 * @param remedy what a client is told whose body is larger
 * @param code of HTTP for what a request ends with that no server has answered
 * @param headers of ours
 * @param tls null for plain text
 * @param silence of a server's kernel, after which a connection is lost
 */
public record HttpForwarding(
    ForwardingBudget memory,
    long maxBodyBytes,
    String remedy,
    ToIntFunction<Status.Code> code,
    Headers headers,
    @Nullable Tls tls,
    Duration silence) {

  /**
   * Names of headers in small letters. What a client sends under the first two is not passed on.
   *
   * @param caller by which servers are told whose request it is, as a number
   * @param spent by which they are told for how many nanoseconds all of a request has been here,
   *     when they are not the first that are asked
   * @param keeps by which a server says that a request must go to no other
   * @param refusal by which it says that its refusal is about the model or the request
   */
  public record Headers(String caller, String spent, String keeps, String refusal) {}

  /**
   * @param context of a client that checks names
   * @param serverName that certificates must have; empty for the host that each is known by
   */
  public record Tls(SslContext context, String serverName) {}
}
