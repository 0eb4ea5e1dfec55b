package dev.roundhouse.engine.transport;

import java.security.cert.X509Certificate;
import org.jspecify.annotations.Nullable;

/**
 * What a client shows.
 *
 * @param token without a word such as {@code Bearer} before it; null for none
 * @param certificate that it has shown by TLS, and that the transport has verified; null for none
 */
public record CallerCredentials(@Nullable String token, @Nullable X509Certificate certificate) {
  /** Nothing: the client is known by its address alone. */
  public static final CallerCredentials NONE = new CallerCredentials(null, null);

  /** A token; an empty one is none. */
  public static CallerCredentials ofToken(String token) {
    return token.isEmpty() ? NONE : new CallerCredentials(token, null);
  }
}
