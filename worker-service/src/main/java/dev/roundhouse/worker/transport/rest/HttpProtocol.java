package dev.roundhouse.worker.transport.rest;

import java.io.IOException;
import org.apache.coyote.Processor;
import org.apache.coyote.Request;
import org.apache.coyote.http11.Http11NioProtocol;
import org.apache.coyote.http11.Http11Processor;
import org.apache.tomcat.util.net.AbstractEndpoint.Handler.SocketState;
import org.apache.tomcat.util.net.SocketWrapperBase;
import org.jspecify.annotations.Nullable;

/** Tomcat's HTTP/1.1, whose requests know their socket. Tomcat makes it by its name. */
public final class HttpProtocol extends Http11NioProtocol {
  /** Of a request's notes, one that Tomcat does not use. */
  private static final int SOCKET_NOTE = 20;

  /** The socket of a request; null when it came by another protocol. */
  static @Nullable SocketWrapperBase<?> socket(Request request) {
    return request.getNote(SOCKET_NOTE) instanceof SocketWrapperBase<?> socket ? socket : null;
  }

  @Override
  protected Processor createProcessor() {
    return new NotingProcessor(this);
  }

  private static final class NotingProcessor extends Http11Processor {
    NotingProcessor(HttpProtocol protocol) {
      super(protocol, protocol.getAdapter());
    }

    @Override
    public SocketState service(SocketWrapperBase<?> socket) throws IOException {
      getRequest().setNote(SOCKET_NOTE, socket);
      return super.service(socket);
    }
  }
}
