package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.util.List;

/** Limits of a request's head, and what it costs while it is kept. */
final class RequestHead {
  /** Same as Tomcat. */
  static final int MAX_FIELDS = 100;

  /** A head up to this size is included in what each connection is counted for. */
  private static final int INCLUDED_BYTES = 4 << 10;

  /** A request without its fields: the objects for it and its exchange. */
  private static final int REQUEST_BYTES = 1 << 10;

  /** A field besides its texts: two strings, an entry, its slot. */
  private static final int FIELD_BYTES = 128;

  private RequestHead() {}

  /**
   * False for an invalid Host, for several, and for none where HTTP/1.1 requires one: a proxy in
   * front may read such a head differently.
   */
  static boolean hasHost(HttpRequest head) {
    List<String> hosts = head.headers().getAll(HttpHeaderNames.HOST);
    if (hosts.size() != 1) {
      return hosts.isEmpty() && head.protocolVersion().compareTo(HttpVersion.HTTP_1_1) < 0;
    }
    String host = hosts.getFirst();
    for (int i = 0; i < host.length(); i++) {
      char c = host.charAt(i);
      boolean letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      if (!letter && "-._:[]".indexOf(c) < 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * Bytes to count for a head while it is kept; almost always 0.
   *
   * @param bytes on the wire, each of which may become a two-byte character
   */
  static long countedBytes(HttpRequest head, long bytes) {
    long kept = REQUEST_BYTES + 2 * bytes + (long) FIELD_BYTES * head.headers().size();
    return Math.max(0, kept - INCLUDED_BYTES);
  }
}
