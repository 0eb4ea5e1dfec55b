package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http1.StreamedRequestHandler;

/**
 * Sends requests over HTTP/1.1 on to other servers, on the event loops that they arrive at, and
 * their answers back, without a copy of what is large. Its connections are closed with the event
 * loops. Thread-safe.
 */
public final class HttpForwarder {
  private final HttpForwarding settings;
  private final HttpConnections connections;

  public HttpForwarder(HttpForwarding settings) {
    this.settings = settings;
    connections = new HttpConnections(settings.tls(), settings.silence());
  }

  /** Sends one request on, to where its router says. */
  public StreamedRequestHandler request(HttpRouter router) {
    return new ForwardedRequest(settings, connections, router);
  }
}
