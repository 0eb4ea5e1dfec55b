package dev.roundhouse.platform.rest;

import java.io.IOException;
import java.time.Duration;
import org.apache.coyote.Processor;
import org.apache.coyote.Request;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/**
 * Tomcat's HTTP/1.1, whose requests know their socket and must come steadily. Tomcat makes it by
 * its name.
 */
public final class HttpProtocol extends Http11NioProtocol {
  /** Of a request's notes, one that Tomcat does not use. */
  private static final int SOCKET_NOTE = 20;

  private Duration stalled = Duration.ofMinutes(1);

  /** Call before the first connection: what a head may take, and the next part of a body. */
  void setStalled(Duration allowed) {
    stalled = allowed;
  }

  /** The socket of a request; null when it came by another protocol. */
  static @Nullable SocketWrapperBase<?> socket(Request request) {
    return request.getNote(SOCKET_NOTE) instanceof SocketWrapperBase<?> socket ? socket : null;
  }

  @Override
  protected Processor createProcessor() {
    return new NotingProcessor(this, stalled);
  }

  private static final class NotingProcessor extends Http11Processor {
    private final Duration stalled;

    NotingProcessor(HttpProtocol protocol, Duration stalled) {
      super(protocol, protocol.getAdapter());
      this.stalled = stalled;
      getRequest()
          .setInputBuffer(
              new PacedInput(getRequest().getInputBuffer(), stalled, protocol.getMaxSwallowSize()));
    }

    @Override
    public SocketState service(SocketWrapperBase<?> socket) throws IOException {
      getRequest().setNote(SOCKET_NOTE, socket);
      SocketState state = super.service(socket);
      return state == SocketState.LONG && isHeadLate() ? SocketState.CLOSED : state;
    }

    /** True when part of a head has come for too long; Tomcat's own time begins with each byte. */
    private boolean isHeadLate() {
      long began = getRequest().getStartTimeNanos();
      return !isAsync() && began >= 0 && System.nanoTime() - began >= stalled.toNanos();
    }
  }
}
