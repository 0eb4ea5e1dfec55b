package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.SocketAddress;
import java.util.Map;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** A request that has come as a whole. */
public final class ReceivedRequest {
  private final HttpHeaders headers;
  private final byte[] body;
  private final int length;
  private final Http1Connection connection;

  ReceivedRequest(HttpHeaders headers, byte[] body, int length, Http1Connection connection) {
    this.headers = headers;
    this.body = body;
    this.length = length;
    this.connection = connection;
  }

  /** The first value of a header; its name in any case. */
  public @Nullable String header(String name) {
    return headers.get(name);
  }

  /** All of them, as they came. */
  public Iterable<Map.Entry<String, String>> headers() {
    return headers;
  }

  /** Of which the first {@link #length} bytes are the body's, as it was sent. */
  public byte[] body() {
    return body;
  }

  public int length() {
    return length;
  }

  /** What is taken of {@link #memory} for the body, as its kind; the handler gives it back. */
  public long heldBytes() {
    return body.length;
  }

  /** Where all that the client's connection makes the server keep is counted. */
  public ConnectionMemory memory() {
    return connection.memory();
  }

  /** The other end of the connection; null when it has gone. */
  public @Nullable SocketAddress client() {
    return connection.context().channel().remoteAddress();
  }

  /** What was agreed on by TLS; null for plain text. */
  public @Nullable SSLSession session() {
    return connection.session();
  }
}
