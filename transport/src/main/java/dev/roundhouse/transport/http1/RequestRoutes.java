package dev.roundhouse.transport.http1;

/** Chooses who answers a request. Called on event loops, so it must be fast. Thread-safe. */
public interface RequestRoutes {

  /**
   * @param method as the client wrote it
   * @param target path and query, as the client wrote them
   * @return what answers this one request
   */
  RouteTarget route(String method, String target);
}
