package dev.roundhouse.transport.http1;

/** Says who answers a request. Called on event loops, so it must be brief. Thread-safe. */
public interface RequestRoutes {

  /**
   * @param method as the client wrote it
   * @param target of the request, with its query, as the client wrote it
   * @return what answers this one request
   */
  RouteTarget route(String method, String target);
}
