package dev.roundhouse.platform.rest;

import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.PeerMemory;
import jakarta.servlet.http.HttpServletRequest;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import org.jspecify.annotations.Nullable;

/**
 * What one request that Tomcat handles makes the process keep, counted as of the client's address.
 * Tomcat's connections themselves are bounded by their number. To be closed when the request has
 * ended.
 */
public final class ClientMemory implements AutoCloseable {
  private static final SocketAddress LOCAL = UnixDomainSocketAddress.of("");

  private final ConnectionMemory memory;

  private ClientMemory(ConnectionMemory memory) {
    this.memory = memory;
  }

  /** For a request; those that come from within the process, by a domain socket, are one client. */
  public static ClientMemory of(PeerMemory peers, HttpServletRequest request) {
    ConnectionMemory opened = peers.open(address(request.getRemoteAddr()), 0, () -> {});
    if (opened == null) {
      throw new IllegalStateException("nothing at all could not be counted");
    }
    return new ClientMemory(opened);
  }

  private static SocketAddress address(@Nullable String remote) {
    if (remote == null || remote.isEmpty()) {
      return LOCAL;
    }
    try {
      return new InetSocketAddress(InetAddress.ofLiteral(remote), 0);
    } catch (IllegalArgumentException e) {
      return LOCAL; // it is no address
    }
  }

  public ConnectionMemory memory() {
    return memory;
  }

  @Override
  public void close() {
    memory.close();
  }
}
