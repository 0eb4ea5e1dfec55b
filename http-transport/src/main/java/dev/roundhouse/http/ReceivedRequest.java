package dev.roundhouse.http;

import io.netty.handler.codec.http.HttpHeaders;
import org.jspecify.annotations.Nullable;

/** A request that has come as a whole. */
public final class ReceivedRequest {
  private final HttpHeaders headers;
  private final byte[] body;
  private final int length;
  private final long heldBytes;

  ReceivedRequest(HttpHeaders headers, byte[] body, int length, long heldBytes) {
    this.headers = headers;
    this.body = body;
    this.length = length;
    this.heldBytes = heldBytes;
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

  /** What is taken of the memory budget for the body; the handler gives it back. */
  public long heldBytes() {
    return heldBytes;
  }
}
