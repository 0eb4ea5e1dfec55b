package dev.roundhouse.http;

import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpRequest;
import java.util.Iterator;
import java.util.Map;

/** What a request's head may have, and takes for as long as it is kept. */
final class RequestHead {
  /** As many as Tomcat takes, which is behind. */
  static final int MAX_FIELDS = 100;

  /** What each connection is counted for has room for a head so large. */
  private static final int INCLUDED_BYTES = 4 << 10;

  /** Of a request without its fields: the objects that it and its exchange are. */
  private static final int REQUEST_BYTES = 1 << 10;

  /** Of a field besides its texts: two of them, an entry, its place. */
  private static final int FIELD_BYTES = 128;

  private RequestHead() {}

  /** What is to be counted for a head, as it is kept; next to always nothing. */
  static long countedBytes(HttpRequest head) {
    HttpHeaders fields = head.headers();
    long bytes = REQUEST_BYTES + 2L * head.uri().length() + (long) FIELD_BYTES * fields.size();
    Iterator<Map.Entry<CharSequence, CharSequence>> each = fields.iteratorCharSequence();
    while (each.hasNext()) {
      Map.Entry<CharSequence, CharSequence> field = each.next();
      bytes += field.getKey().length() + 2L * field.getValue().length();
    }
    return Math.max(0, bytes - INCLUDED_BYTES);
  }
}
