package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.access.CallerRights;
import org.jspecify.annotations.Nullable;

/** Chooses who answers a request. Called on event loops, so it must be fast. Thread-safe. */
public interface RequestRoutes {

  /**
   * @param method as the client wrote it
   * @param target path and query, as the client wrote them
   * @param caller what the request's caller may do; null when nothing is checked
   * @return what answers this one request
   */
  RouteTarget route(String method, String target, @Nullable CallerRights caller);
}
