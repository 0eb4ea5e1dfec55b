package dev.roundhouse.platform.tstream;

import dev.roundhouse.kserve.codec.CallerHeader;
import dev.roundhouse.platform.access.Access;
import dev.roundhouse.transport.access.CallerRights;
import org.jspecify.annotations.Nullable;

/**
 * What the token of a hello says of its caller. A client's is a bearer token. A gateway's is lines,
 * {@code roundhouse-caller: NUMBER} and one more, which a call has as headers: {@code
 * roundhouse-sealed-caller: ...}, or {@code authorization: Bearer ...} where it has no key to sign
 * with. No bearer token has blanks.
 *
 * @param caller of the gateway; null when there is none
 * @param authorization as the header of that name; null for none
 * @param sealed as the header {@link Access#SEALED_CALLER}; null for none
 */
public record HelloToken(
    @Nullable String caller, @Nullable String authorization, @Nullable String sealed) {
  private static final String CALLER = CallerHeader.NAME + ": ";
  private static final String SEALED = Access.SEALED_CALLER + ": ";
  private static final String AUTHORIZATION = "authorization: ";

  public static HelloToken read(String token) {
    if (token.isEmpty()) {
      return new HelloToken(null, null, null);
    }
    if (!token.startsWith(CALLER)) {
      return new HelloToken(null, "Bearer " + token, null);
    }
    String authorization = null;
    String sealed = null;
    String[] lines = token.split("\n", -1);
    for (int i = 1; i < lines.length; i++) {
      if (lines[i].startsWith(SEALED)) {
        sealed = joined(sealed, lines[i].substring(SEALED.length()));
      } else if (lines[i].startsWith(AUTHORIZATION)) {
        authorization = joined(authorization, lines[i].substring(AUTHORIZATION.length()));
      }
    }
    return new HelloToken(lines[0].substring(CALLER.length()), authorization, sealed);
  }

  /** No seal and no token has a comma: whoever writes several is refused. */
  private static String joined(@Nullable String first, String second) {
    return first == null ? second : first + ", " + second;
  }

  /**
   * The token by which a gateway passes this caller on. What the client said of callers and seals
   * is dropped, and with a seal of ours also what it has shown of itself.
   *
   * @param peer the client's address as a number
   * @param rights of the caller; null when nothing is checked
   */
  public String passedOn(int peer, @Nullable CallerRights rights) {
    String seal = rights == null ? null : rights.sealed();
    String first = CALLER + peer;
    if (seal != null) {
      return first + "\n" + SEALED + seal;
    }
    return authorization == null ? first : first + "\n" + AUTHORIZATION + authorization;
  }
}
