package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.handler.codec.http.HttpHeaders;
import java.net.SocketAddress;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** A request that has arrived whole. */
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

  /** The first value of a header; the name is case-insensitive. */
  public @Nullable String header(String name) {
    return headers.get(name);
  }

  /** Every value of a header; the name is case-insensitive. */
  public List<String> headers(String name) {
    return headers.getAll(name);
  }

  /** All headers, as received. */
  public Iterable<Map.Entry<String, String>> headers() {
    return headers;
  }

  /** The first {@link #length} bytes are the body, as it was sent. */
  public byte[] body() {
    return body;
  }

  public int length() {
    return length;
  }

  /** Bytes taken from {@link #memory} for the body; the handler gives them back. */
  public long heldBytes() {
    return body.length;
  }

  /** Counts all that the server keeps for the client's connection. */
  public ConnectionMemory memory() {
    return connection.memory();
  }

  /** The client's address; null when it is gone. */
  public @Nullable SocketAddress client() {
    return connection.context().channel().remoteAddress();
  }

  /** The TLS session; null for plain text. */
  public @Nullable SSLSession session() {
    return connection.session();
  }
}
