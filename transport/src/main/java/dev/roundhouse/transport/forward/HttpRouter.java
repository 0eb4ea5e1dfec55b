package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.forward.CallRouter.Route;
import io.grpc.StatusException;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.InetSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * Says to which servers one request over HTTP is sent. Its body is passed on as it arrives, and is
 * not read but for its beginning. Called on event loops: it must not block.
 */
public interface HttpRouter {

  /**
   * Chooses a server.
   *
   * @param begin of the body, as it was sent, up to 64 KiB; not to be changed
   * @throws StatusException what the request ends with instead
   */
  Route route(HttpHeaders headers, byte[] begin) throws StatusException;

  /**
   * Chooses a server to be asked beside one that takes long.
   *
   * @param body all of it
   * @param body all of it; not to be changed
   * @return null when there is none, or the request must not run twice
   */
  @Nullable Route second(Route first, HttpHeaders headers, byte[] body);

  /** Where a route's server answers HTTP, resolved or not; null when it has gone meanwhile. */
  @Nullable InetSocketAddress address(Route route);

  /** What a client is told of a route's server: {@code worker 'a'}. */
  String name(Route route);
}
