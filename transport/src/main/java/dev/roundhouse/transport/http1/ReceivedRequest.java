package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** A request that has come as a whole. */
public final class ReceivedRequest {
  private final HttpHeaders headers;
  private final byte[] body;
  private final int length;
  private final ConnectionMemory memory;

  ReceivedRequest(HttpHeaders headers, byte[] body, int length, ConnectionMemory memory) {
    this.headers = headers;
    this.body = body;
    this.length = length;
    this.memory = memory;
  }

  /** The first value of a header; its name in any case. */
  public @Nullable String header(String name) {
    return headers.get(name);
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
    return memory;
  }
}
