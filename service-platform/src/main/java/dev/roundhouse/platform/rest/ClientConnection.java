package dev.roundhouse.platform.rest;

import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import org.apache.catalina.connector.Request;
import org.apache.catalina.connector.Response;
import org.apache.catalina.valves.ValveBase;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/**
 * The connection a request came by, while its answer is waited for. Servlets do not hear that a
 * client has gone until they write to it, so whoever waits looks. For the thread of the request,
 * once the body has been read.
 */
public final class ClientConnection {
  private static final String ATTRIBUTE = ClientConnection.class.getName();
  private static final String CLIENT = ATTRIBUTE + ".client";

  /** As of the worker's own server. */
  private static final long ENDED_NANOS = TimeUnit.SECONDS.toNanos(1);

  private final @Nullable SocketWrapperBase<?> socket;

  /** The client has sent more than the request: no end of it is seen behind that. */
  private boolean hasMore;

  private boolean hasEnded;
  private long endedNanos;

  private ClientConnection(@Nullable SocketWrapperBase<?> socket) {
    this.socket = socket;
  }

  /** The connection of a request that came through {@link Noting}. */
  public static ClientConnection of(ServletRequest request) {
    Object noted = request.getAttribute(ATTRIBUTE);
    return noted instanceof ClientConnection connection ? connection : new ClientConnection(null);
  }

  /** Address and port of whoever asked, for the log. */
  static String client(ServletRequest request) {
    return request.getAttribute(CLIENT) instanceof String told
        ? told
        : request.getRemoteAddr() + ":" + request.getRemotePort();
  }

  /**
   * True when the client has closed its side, and has not been answered for a while: one that waits
   * for its answer looks the same at first. What it has sent meanwhile stays to be read.
   */
  public boolean isGone() {
    if (socket == null || hasMore) {
      return false;
    }
    ByteBuffer next = ByteBuffer.allocate(1);
    try {
      int count = socket.read(false, next);
      if (count > 0) {
        hasMore = true;
        socket.unRead(next.flip());
      }
      return count < 0 && hasEndedForLong();
    } catch (EOFException e) {
      return hasEndedForLong();
    } catch (IOException e) {
      return true;
    }
  }

  private boolean hasEndedForLong() {
    long now = System.nanoTime();
    if (!hasEnded) {
      hasEnded = true;
      endedNanos = now;
    }
    return now - endedNanos >= ENDED_NANOS;
  }

  /**
   * Notes each request's connection, if {@link HttpProtocol} has it; and takes what is left of its
   * body, which Tomcat would wait for as long as a byte comes now and then.
   */
  static final class Noting extends ValveBase {
    Noting() {
      super(true);
    }

    @Override
    public void invoke(Request request, Response response) throws IOException, ServletException {
      nameClient(request);
      var socket = HttpProtocol.socket(request.getCoyoteRequest());
      request.setAttribute(ATTRIBUTE, new ClientConnection(socket));
      if (!(request.getCoyoteRequest().getInputBuffer() instanceof PacedInput body)) {
        getNext().invoke(request, response);
        return;
      }
      body.begin();
      getNext().invoke(request, response);
      if (!request.isFinished()) {
        response.finishResponse(); // nobody should have to send all before it is told
        body.drain(request.getCoyoteRequest());
      }
    }

    /** Whoever connects by a domain socket is a server before this one, and says for whom. */
    private static void nameClient(Request request) {
      if (!(request.getConnector().getProtocolHandler() instanceof HttpProtocol http)
          || http.clientHeader().isEmpty()) {
        return;
      }
      String client = request.getHeader(http.clientHeader());
      int port = client == null ? -1 : client.lastIndexOf(':');
      if (client != null && port > 0) {
        request.setRemoteAddr(client.substring(0, port));
        request.setAttribute(CLIENT, client);
      }
    }
  }
}
