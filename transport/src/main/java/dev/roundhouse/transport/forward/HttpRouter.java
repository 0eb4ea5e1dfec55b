package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.access.CallerRights;
import dev.roundhouse.transport.forward.CallRouter.Route;
import io.grpc.Status;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Chooses the servers for one HTTP request. Its body is passed on as it arrives; only its beginning
 * is read. Called on event loops: must not block.
 */
public interface HttpRouter {

  /** The most of a body that is kept for choosing. */
  default int keptBytes() {
    return KeptBody.MOST_BYTES;
  }

  /** What the request's caller may do; null when nothing is checked. */
  default @Nullable CallerRights caller() {
    return null;
  }

  /**
   * Chooses a server.
   *
   * @param begin of the body, as sent, up to {@link #keptBytes}; must not be changed
   * @throws StatusException what the request ends with instead
   */
  Route route(HttpHeaders headers, byte[] begin) throws StatusException;

  /**
   * Chooses a second server beside a slow one.
   *
   * @param body all of it
   * @param body all of it; not to be changed
   * @return null when there is none, or the request must not run twice
   */
  @Nullable Route second(Route first, HttpHeaders headers, byte[] body);

  /** Headers of a refusal that no server has sent. */
  default Map<String, String> refusalHeaders(Status told) {
    return Map.of();
  }

  /**
   * What copies the request, which has just been given its first route.
   *
   * @return null when nothing does
   */
  default @Nullable PassingCopy copy(Route route, HttpHeaders headers) {
    return null;
  }

  /** The HTTP address of a route's server, resolved or not; null when it is gone. */
  @Nullable InetSocketAddress address(Route route);

  /** The name of a route's server for clients: {@code worker 'a'}. */
  String name(Route route);
}
