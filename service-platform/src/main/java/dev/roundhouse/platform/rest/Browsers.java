package dev.roundhouse.platform.rest;

import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Refuses requests that a web page makes its visitor's browser send: any page may send requests to
 * whatever the visitor's machine reaches, including this server, which has no password. Reads are
 * allowed, since a browser keeps the answer from the page. Immutable.
 *
 * <p>A browser names the page's site ({@code Origin}, {@code Sec-Fetch-Site}), which then must be
 * this server's own; and without a preflight sends only what forms could send, which no client of
 * ours does. A page may also make its own name resolve to this machine (DNS rebinding): this server
 * is not known by such a name.
 */
public final class Browsers {
  private static final Set<String> CHANGING = Set.of("POST", "PUT", "PATCH", "DELETE");
  private static final Set<String> ELSEWHERE = Set.of("cross-site", "same-site");

  /** Content types that a page may send without a preflight and programs do not use. */
  private static final Set<String> OF_FORMS = Set.of("text/plain", "multipart/form-data");

  private static final Pattern ORIGIN = Pattern.compile("(https?)://([^/?#@\\s]+)");
  private static final Pattern PORT = Pattern.compile("(.*[^:]):([0-9]{1,5})");
  private static final Pattern ADDRESS =
      Pattern.compile("[0-9]{1,3}(\\.[0-9]{1,3}){3}|\\[[0-9a-f:.%]+]");
  private static final String MODELS = "/v2/models/";
  private static final int LEAST_INFERENCE = MODELS.length() + "/infer".length();
  private static final int MOST_SHOWN = 100;
  private static final int FORBIDDEN = 403;
  private static final int UNSUPPORTED_TYPE = 415;

  private final Set<String> allowed;
  private final String key;

  /**
   * @param allowedHosts names that the server is known by beside its addresses and localhost
   * @param key of the setting that lists them; empty for none
   */
  public Browsers(List<String> allowedHosts, String key) {
    allowed = allowedHosts.stream().map(Browsers::lower).collect(Collectors.toUnmodifiableSet());
    this.key = key;
  }

  /**
   * How a request is refused.
   *
   * @param code HTTP status
   * @param text for the client
   */
  public record Refusal(int code, String text) {}

  /**
   * A request's head.
   *
   * @param path without the query
   * @param loopback whether its connection arrived at this machine's own address
   * @param secure whether it came by TLS
   * @param header a field's value by its name, null when there is none
   */
  public record Head(
      String method,
      String path,
      boolean loopback,
      boolean secure,
      UnaryOperator<@Nullable String> header) {
    @Nullable String field(String name) {
      return header.apply(name);
    }
  }

  /** Null for an allowed request. */
  public @Nullable Refusal refusal(Head head) {
    if (!CHANGING.contains(head.method())) {
      return null;
    }
    String origin = head.field("origin");
    String host = head.field("host");
    String site = head.field("sec-fetch-site");
    if (origin != null && !isOwn(origin, host, head.secure())) {
      return new Refusal(
          FORBIDDEN,
          "Origin '%s' is not the Host that was asked, '%s': a web page of another site may neither change this server nor run inference; ask it from a program, or from a page that the same host and port serve"
              .formatted(shown(origin), shown(host)));
    }
    if (site != null && ELSEWHERE.contains(lower(site))) {
      return new Refusal(
          FORBIDDEN,
          "Sec-Fetch-Site is '%s': a web page of another site may neither change this server nor run inference; ask it from a program, or from a page that the same host and port serve"
              .formatted(shown(site)));
    }
    boolean suspect = origin != null || (head.loopback() && !isInference(head.path()));
    if (suspect && !isKnown(host)) {
      return new Refusal(
          FORBIDDEN,
          "Host '%s' is not a name that this server is known by; ask it by its address or as localhost%s"
              .formatted(shown(host), key.isEmpty() ? "" : ", or have the name listed in " + key));
    }
    String type = head.field("content-type");
    if (type != null && OF_FORMS.contains(mediaType(type))) {
      return new Refusal(
          UNSUPPORTED_TYPE,
          "Content-Type '%s' is what a web page may send anywhere unasked, and is not taken; send application/json or application/octet-stream, or leave it out"
              .formatted(shown(type)));
    }
    return null;
  }

  private static boolean isInference(String path) {
    return TextPath.of(path) != null
        || V1InferPath.beginsAsOne(path)
        || (path.startsWith(MODELS)
            && InferPath.endsAsOne(path)
            && path.length() > LEAST_INFERENCE);
  }

  /** A proxy that terminates TLS is not visible here, so https is believed. */
  private static boolean isOwn(String origin, @Nullable String host, boolean secure) {
    var parts = ORIGIN.matcher(lower(origin.strip()));
    if (host == null || !parts.matches()) {
      return false;
    }
    boolean https = parts.group(1).equals("https");
    String standard = https ? ":443" : ":80";
    return (https || !secure)
        && withPort(parts.group(2), standard).equals(withPort(lower(host.strip()), standard));
  }

  private static String withPort(String authority, String standard) {
    return PORT.matcher(authority).matches() ? authority : authority + standard;
  }

  /** HTTP/1.0 has requests without a Host, and no browser speaks it. */
  private boolean isKnown(@Nullable String host) {
    if (host == null) {
      return true;
    }
    String authority = lower(host.strip());
    var parts = PORT.matcher(authority);
    String name = parts.matches() ? parts.group(1) : authority;
    String bare = name.endsWith(".") ? name.substring(0, name.length() - 1) : name;
    return ADDRESS.matcher(bare).matches()
        || bare.equals("localhost")
        || bare.endsWith(".localhost")
        || allowed.contains(bare);
  }

  private static String mediaType(String contentType) {
    int parameters = contentType.indexOf(';');
    return lower((parameters < 0 ? contentType : contentType.substring(0, parameters)).strip());
  }

  private static String lower(String text) {
    return text.toLowerCase(Locale.ROOT);
  }

  private static String shown(@Nullable String value) {
    if (value == null) {
      return "(none)";
    }
    String begin = value.length() > MOST_SHOWN ? value.substring(0, MOST_SHOWN) + "..." : value;
    return begin.replaceAll("[\\p{Cntrl}\\u0085\\u2028\\u2029]", "?");
  }
}
