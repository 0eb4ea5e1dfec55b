package dev.roundhouse.transport.forward;

import io.netty.handler.codec.http.DefaultHttpHeadersFactory;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpHeadersFactory;
import io.netty.util.AsciiString;
import java.net.InetSocketAddress;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/** Chooses which header fields of a request or an answer are passed on. */
final class HttpHeads {
  /** Fields are checked once, when they are received. */
  private static final HttpHeadersFactory WITHOUT_CHECKS =
      DefaultHttpHeadersFactory.headersFactory().withValidation(false);

  /** Fields of the connection rather than of the message; and those set here. */
  private static final HttpHeaders NOT_PASSED_ON =
      names(
          "connection",
          "content-length",
          "date",
          "expect",
          "host",
          "http2-settings",
          "keep-alive",
          "origin", // looked at here; what the server is asked as is another Host
          "proxy-connection",
          "sec-fetch-site",
          "te",
          "trailer",
          "transfer-encoding",
          "upgrade");

  private HttpHeads() {}

  /** Found in any case, without a copy of the name that is looked for. */
  private static HttpHeaders names(String... names) {
    HttpHeaders all = DefaultHttpHeadersFactory.headersFactory().newHeaders();
    for (String name : names) {
      all.set(name, "");
    }
    return all;
  }

  /** A copy of the fields that are passed on, to add to. */
  static HttpHeaders passedOn(HttpHeaders all, HttpForwarding.Headers own) {
    HttpHeaders passed = WITHOUT_CHECKS.newHeaders();
    Set<String> named = namedByConnection(all);
    var fields = all.iteratorCharSequence();
    while (fields.hasNext()) {
      Map.Entry<CharSequence, CharSequence> field = fields.next();
      CharSequence name = field.getKey();
      if (!NOT_PASSED_ON.contains(name)
          && !AsciiString.contentEqualsIgnoreCase(name, own.caller())
          && !AsciiString.contentEqualsIgnoreCase(name, own.spent())
          && !AsciiString.contentEqualsIgnoreCase(name, own.sealed())
          && (named.isEmpty() || !named.contains(name.toString().toLowerCase(Locale.ROOT)))) {
        passed.add(name, field.getValue());
      }
    }
    return passed;
  }

  /** RFC 9110, 7.6.1: these belong to this connection too. */
  private static Set<String> namedByConnection(HttpHeaders all) {
    List<String> connection = all.getAll(HttpHeaderNames.CONNECTION);
    if (connection.isEmpty()) {
      return Set.of();
    }
    Set<String> named = new HashSet<>();
    for (String value : connection) {
      for (String name : value.split(",")) {
        named.add(name.strip().toLowerCase(Locale.ROOT));
      }
    }
    return named;
  }

  /** The Host header for a server. */
  static String host(InetSocketAddress server) {
    String host = server.getHostString();
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + server.getPort();
  }
}
