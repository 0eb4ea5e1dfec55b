package dev.roundhouse.platform.rest;

import io.netty.handler.codec.http2.Http2SecurityUtil;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.coyote.Processor;
import org.apache.coyote.Request;
import org.apache.coyote.Response;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.buf.MessageBytes;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.NioEndpoint;
import org.apache.tomcat.util.net.SSLHostConfig;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/**
 * Tomcat's HTTP/1.1, whose requests must come steadily, and which agrees on good ciphers only.
 * Tomcat makes it by its name.
 */
public final class HttpProtocol extends Http11NioProtocol {
  /**
   * Of a request's notes, one that Tomcat does not use: there when it has said twice how long its
   * body is.
   */
  private static final int TWO_LENGTHS_NOTE = 21;

  /** Whose request this thread reads. */
  private static final ScopedValue<Request> READING = ScopedValue.newInstance();

  /** With a key for each connection, and encryption that notices changes: those of HTTP/2. */
  private static final String CIPHERS =
      Http2SecurityUtil.CIPHERS.stream()
          .filter(cipher -> cipher.contains("_WITH_")) // TLS 1.3 has a separate list
          .collect(Collectors.joining(","));

  private Duration stalled = Duration.ofMinutes(1);

  /**
   * Between looks whether there is room for further connections, and the least time of an idle one.
   */
  private static final long LOOK_MILLIS = 100;

  /** Of all connections, those that are closed at a time so that others are accepted. */
  private static final int CLOSED_PART = 4;

  private final Set<SocketWrapperBase<?>> busy = ConcurrentHashMap.newKeySet();
  private long maxBody = Long.MAX_VALUE;
  private @Nullable ScheduledFuture<?> looking;
  private volatile boolean leaving;

  /** From here on each answer closes its connection. Any thread. */
  void leave() {
    leaving = true;
  }

  /** Accepts no further connections; open ones continue. */
  void closeDoor() {
    leave();
    closeServerSocketGraceful();
  }

  /** Closes connections between two requests, which clients would think open. */
  void closeIdle() {
    long before = System.currentTimeMillis() - LOOK_MILLIS;
    getEndpoint().getConnections().stream()
        .filter(socket -> !busy.contains(socket) && lastMoved(socket) <= before)
        .forEach(SocketWrapperBase::close);
  }

  boolean hasConnections() {
    return !getEndpoint().getConnections().isEmpty();
  }

  /**
   * Tomcat asks this of each answer whose head it is about to write: no other moment is left to say
   * that the connection is closed.
   */
  @Override
  public boolean useCompression(Request request, Response response) {
    if (leaving) {
      response.setHeader("Connection", "close");
    }
    return super.useCompression(request, response);
  }

  /** Call before the first connection: what a head may take, and the next part of a body. */
  void setStalled(Duration allowed) {
    stalled = allowed;
  }

  /** Call before the first connection: bytes that a request's body may have. */
  void setMaxBody(long bytes) {
    maxBody = bytes;
  }

  @Override
  public void start() throws Exception {
    super.start();
    if (getMaxConnections() > 0) {
      looking =
          getUtilityExecutor()
              .scheduleWithFixedDelay(
                  this::makeRoom, LOOK_MILLIS, LOOK_MILLIS, TimeUnit.MILLISECONDS);
    }
  }

  @Override
  public void stop() throws Exception {
    if (looking != null) {
      looking.cancel(false);
    }
    super.stop();
  }

  /** Closes the connections idle longest when the limit is reached. */
  private void makeRoom() {
    if (getConnectionCount() < getMaxConnections()) {
      return;
    }
    long before = System.currentTimeMillis() - LOOK_MILLIS;
    getEndpoint().getConnections().stream()
        .filter(socket -> !busy.contains(socket) && lastMoved(socket) <= before)
        .sorted(Comparator.comparingLong(HttpProtocol::lastMoved))
        .limit(1 + getMaxConnections() / CLOSED_PART)
        .forEach(SocketWrapperBase::close);
  }

  private static long lastMoved(SocketWrapperBase<?> socket) {
    return socket instanceof NioEndpoint.NioSocketWrapper known
        ? Math.max(known.getLastRead(), known.getLastWrite())
        : Long.MAX_VALUE;
  }

  /** True when the request had both a length and a transfer coding; Tomcat goes by the coding. */
  static boolean hasTwoLengths(Request request) {
    return request.getNote(TWO_LENGTHS_NOTE) != null;
  }

  /**
   * Tomcat asks this of each request whose head it has read, before it drops one of two lengths: no
   * other moment is left to look.
   */
  @Override
  public boolean isSSLEnabled() {
    if (READING.isBound()) {
      Request request = READING.get();
      var fields = request.getMimeHeaders();
      boolean both =
          fields.getValue("content-length") != null && fields.getValue("transfer-encoding") != null;
      request.setNote(TWO_LENGTHS_NOTE, both ? Boolean.TRUE : null);
    }
    return super.isSSLEnabled();
  }

  /** What the operator set stays; Tomcat's own choice has ciphers without either property. */
  @Override
  public void addSslHostConfig(SSLHostConfig config, boolean replace) {
    if (config.getCiphers().equals(SSLHostConfig.DEFAULT_TLS_CIPHERS_12)) {
      config.setCiphers(CIPHERS);
    }
    super.addSslHostConfig(config, replace);
  }

  @Override
  protected Processor createProcessor() {
    return new NotingProcessor(this, stalled, maxBody, busy);
  }

  private static final class NotingProcessor extends Http11Processor {
    private final Duration stalled;
    private final Set<SocketWrapperBase<?>> busy;

    NotingProcessor(
        HttpProtocol protocol, Duration stalled, long maxBody, Set<SocketWrapperBase<?>> busy) {
      super(protocol, protocol.getAdapter());
      this.stalled = stalled;
      this.busy = busy;
      getRequest()
          .setInputBuffer(
              new PacedInput(
                  getRequest().getInputBuffer(),
                  stalled,
                  maxBody,
                  Math.min(maxBody, protocol.getMaxSwallowSize())));
    }

    @Override
    public SocketState service(SocketWrapperBase<?> socket) throws IOException {
      busy.add(socket);
      SocketState state;
      try {
        state = ScopedValue.where(READING, getRequest()).call(() -> super.service(socket));
      } finally {
        busy.remove(socket);
      }
      return state == SocketState.LONG && isHeadLate() ? SocketState.CLOSED : state;
    }

    /**
     * Tomcat has no underscore in the last part of a name, where Compose and Docker have them: it
     * is shown another letter.
     */
    @Override
    protected void parseHost(@Nullable MessageBytes host) {
      if (host == null || host.isNull() || host.getByteChunk().indexOf('_', 0) < 0) {
        super.parseHost(host);
        return;
      }
      String asked = host.getByteChunk().toString();
      byte[] shown = asked.replace('_', 'x').getBytes(StandardCharsets.ISO_8859_1);
      MessageBytes other = MessageBytes.newInstance();
      other.setBytes(shown, 0, shown.length);
      super.parseHost(other);
      MessageBytes name = getRequest().serverName();
      if (!name.isNull()) {
        name.setString(asked.substring(0, name.toString().length()));
      }
    }

    /** True when an incomplete head is too late; Tomcat's own timeout restarts with each byte. */
    private boolean isHeadLate() {
      long began = getRequest().getStartTimeNanos();
      return !isAsync() && began >= 0 && System.nanoTime() - began >= stalled.toNanos();
    }
  }
}
