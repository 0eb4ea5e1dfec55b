package dev.roundhouse.platform.rest;

import jakarta.servlet.ServletException;
import jakarta.servlet.ServletRequest;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
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
  private static final long FIRST_ASKED_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

  private static final byte[] INTERIM =
      "HTTP/1.1 100 Continue\r\n\r\n".getBytes(StandardCharsets.US_ASCII);

  private final @Nullable SocketWrapperBase<?> socket;
  private final AtEnd atEnd;

  /** The client has sent more than the request: no end of it is seen behind that. */
  private boolean hasMore;

  /** Since when it sends no more, and after how long it is asked; 0 before. */
  private long endedNanos;

  private long askedAfterNanos;

  /** What it means that a client has closed its side. */
  private enum AtEnd {
    /** It has gone: a server before this one that takes care of those who have not. */
    GONE,
    /** It may be asked whether it is there. */
    ASKED,
    /** It is answered: interim answers are not for it. */
    ANSWERED
  }

  private ClientConnection(@Nullable SocketWrapperBase<?> socket, AtEnd atEnd) {
    this.socket = socket;
    this.atEnd = atEnd;
  }

  /** The connection of a request that came through {@link Noting}. */
  public static ClientConnection of(ServletRequest request) {
    Object noted = request.getAttribute(ATTRIBUTE);
    return noted instanceof ClientConnection connection
        ? connection
        : new ClientConnection(null, AtEnd.ANSWERED);
  }

  /** Address and port of whoever asked, for the log. */
  static String client(ServletRequest request) {
    return request.getAttribute(CLIENT) instanceof String told
        ? told
        : request.getRemoteAddr() + ":" + request.getRemotePort();
  }

  /**
   * True when the client has gone, as far as that shows: one that has only closed its side, and
   * waits for its answer, looks the same until something is sent. What it has sent meanwhile stays
   * to be read. Before the answer has begun.
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
      return count < 0 && isGoneAtEnd(socket);
    } catch (EOFException e) {
      return isGoneAtEnd(socket);
    } catch (IOException e) {
      return true;
    }
  }

  /**
   * The client sends no more. The system of one that has gone resets the connection when something
   * is sent, and the next write fails; so it is sent what every client of HTTP/1.1 passes over (RFC
   * 9110, 15.2), each time after twice as long.
   */
  private boolean isGoneAtEnd(SocketWrapperBase<?> ended) {
    if (atEnd != AtEnd.ASKED) {
      return atEnd == AtEnd.GONE;
    }
    long now = System.nanoTime();
    if (askedAfterNanos == 0) {
      askedAfterNanos = FIRST_ASKED_NANOS;
      endedNanos = now;
    }
    if (now - endedNanos < askedAfterNanos) {
      return false;
    }
    askedAfterNanos *= 2;
    try {
      ended.write(true, INTERIM, 0, INTERIM.length);
      ended.flush(true);
      return false;
    } catch (IOException e) {
      return true;
    }
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
      request.setAttribute(ATTRIBUTE, new ClientConnection(socket, atEnd(request)));
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

    private static AtEnd atEnd(Request request) {
      if (!clientHeader(request).isEmpty()) {
        return AtEnd.GONE;
      }
      return "HTTP/1.1".equals(request.getProtocol()) ? AtEnd.ASKED : AtEnd.ANSWERED;
    }

    /** Whoever connects by a domain socket is a server before this one, and says for whom. */
    private static void nameClient(Request request) {
      String header = clientHeader(request);
      String client = header.isEmpty() ? null : request.getHeader(header);
      int port = client == null ? -1 : client.lastIndexOf(':');
      if (client != null && port > 0) {
        request.setRemoteAddr(client.substring(0, port));
        request.setAttribute(CLIENT, client);
      }
    }

    /** Empty where clients connect by themselves. */
    private static String clientHeader(Request request) {
      return request.getConnector().getProtocolHandler() instanceof HttpProtocol http
          ? http.clientHeader()
          : "";
    }
  }
}
