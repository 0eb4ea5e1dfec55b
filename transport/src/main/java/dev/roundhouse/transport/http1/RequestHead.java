package dev.roundhouse.transport.http1;

import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpRequest;
import io.netty.handler.codec.http.HttpVersion;
import java.util.List;

/** What a request's head may have, and takes for as long as it is kept. */
final class RequestHead {
  /** As many as Tomcat takes. */
  static final int MAX_FIELDS = 100;

  /** What each connection is counted for has room for a head so large. */
  private static final int INCLUDED_BYTES = 4 << 10;

  /** Of a request without its fields: the objects that it and its exchange are. */
  private static final int REQUEST_BYTES = 1 << 10;

  /** Of a field besides its texts: two of them, an entry, its place. */
  private static final int FIELD_BYTES = 128;

  private RequestHead() {}

  /**
   * False of a Host that no server has, of several, and of none where HTTP/1.1 asks for one: a
   * proxy before this server may read such a head otherwise.
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
   * What is to be counted for a head, as it is kept; next to always nothing.
   *
   * @param bytes that it had on the wire, each of which may become a character of two
   */
  static long countedBytes(HttpRequest head, long bytes) {
    long kept = REQUEST_BYTES + 2 * bytes + (long) FIELD_BYTES * head.headers().size();
    return Math.max(0, kept - INCLUDED_BYTES);
  }
}
