package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http1.StreamedRequestHandler;

/**
 * Forwards HTTP/1.1 requests to other servers, on the event loops they arrive on, and returns their
 * answers, without copying large parts. Its connections are closed with the event loops.
 * Thread-safe.
 */
public final class HttpForwarder {
  private final HttpForwarding settings;
  private final HttpConnections connections;

  public HttpForwarder(HttpForwarding settings) {
    this.settings = settings;
    connections =
        new HttpConnections(new ServerSockets(settings.silence(), settings.tls()), settings.idle());
  }

  /** A handler that forwards one request to where its router says. */
  public StreamedRequestHandler request(HttpRouter router) {
    return new ForwardedRequest(settings, connections, router);
  }
}
