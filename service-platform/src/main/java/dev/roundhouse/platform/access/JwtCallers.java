package dev.roundhouse.platform.access;

import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.proc.JWSVerificationKeySelector;
import com.nimbusds.jose.proc.SecurityContext;
import com.nimbusds.jwt.SignedJWT;
import com.nimbusds.jwt.proc.DefaultJWTProcessor;
import java.text.ParseException;
import java.time.Clock;
import java.time.Instant;
import java.time.InstantSource;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.security.oauth2.core.DelegatingOAuth2TokenValidator;
import org.springframework.security.oauth2.core.OAuth2TokenValidator;
import org.springframework.security.oauth2.jwt.Jwt;
import org.springframework.security.oauth2.jwt.JwtClaimNames;
import org.springframework.security.oauth2.jwt.JwtClaimValidator;
import org.springframework.security.oauth2.jwt.JwtException;
import org.springframework.security.oauth2.jwt.JwtIssuerValidator;
import org.springframework.security.oauth2.jwt.JwtTimestampValidator;
import org.springframework.security.oauth2.jwt.NimbusJwtDecoder;

/**
 * The identities of callers that show a token of an OpenID provider: by Spring Security's decoder,
 * with keys that are there already. Thread-safe; does not block.
 */
final class JwtCallers implements AutoCloseable {
  /** By keys of which the server has the public half; a secret shared with the issuer is none. */
  private static final Set<JWSAlgorithm> ALGORITHMS =
      Set.copyOf(
          List.of(
              JWSAlgorithm.RS256,
              JWSAlgorithm.RS384,
              JWSAlgorithm.RS512,
              JWSAlgorithm.PS256,
              JWSAlgorithm.PS384,
              JWSAlgorithm.PS512,
              JWSAlgorithm.ES256,
              JWSAlgorithm.ES384,
              JWSAlgorithm.ES512));

  private static final int MOST_CHARACTERS = 16 << 10;
  private static final int MOST_KEPT = 4096;

  private final JwtProperties settings;
  private final JwtKeys keys;
  private final NimbusJwtDecoder decoder;
  private final List<Named> named = new ArrayList<>();
  private final InstantSource clock;

  /** Tokens that have been verified; a signature takes 50 us. */
  private final Map<String, Verified> kept = new ConcurrentHashMap<>();

  private record Named(NamePatterns subjects, Identity of) {}

  private record Verified(Identity of, Instant until) {}

  /** A token is not valid, or is nobody's. */
  static final class UnknownJwtException extends Exception {
    private final boolean isTemporary;

    UnknownJwtException(String message, boolean isTemporary) {
      super(message);
      this.isTemporary = isTemporary;
    }

    /** Whether the same token may be valid later. */
    boolean isTemporary() {
      return isTemporary;
    }
  }

  /**
   * @param identities by name, as the settings have them
   */
  JwtCallers(AccessProperties settings, Map<String, Identity> identities, InstantSource clock) {
    this.settings = settings.jwt();
    this.clock = clock;
    keys = new JwtKeys(this.settings);
    settings
        .identities()
        .forEach(
            (name, each) -> {
              Identity identity = identities.get(name);
              if (!each.subjects().isEmpty() && identity != null) {
                named.add(new Named(new NamePatterns(each.subjects()), identity));
              }
            });
    decoder = decoder();
  }

  private NimbusJwtDecoder decoder() {
    DefaultJWTProcessor<SecurityContext> processor = new DefaultJWTProcessor<>();
    processor.setJWSKeySelector(
        new JWSVerificationKeySelector<>(
            ALGORITHMS, (selector, context) -> selector.select(keys.current())));
    processor.setJWTClaimsSetVerifier((claims, context) -> {}); // the validators below do
    NimbusJwtDecoder made = new NimbusJwtDecoder(processor);
    JwtTimestampValidator times = new JwtTimestampValidator(settings.clockSkew());
    times.setClock(
        clock instanceof Clock whole
            ? whole
            : new Clock() {
              @Override
              public ZoneOffset getZone() {
                return ZoneOffset.UTC;
              }

              @Override
              public Clock withZone(java.time.ZoneId zone) {
                return this;
              }

              @Override
              public Instant instant() {
                return clock.instant();
              }
            });
    List<OAuth2TokenValidator<Jwt>> validators =
        List.of(
            times,
            new JwtIssuerValidator(settings.issuer()),
            new JwtClaimValidator<List<String>>(
                JwtClaimNames.AUD,
                audiences ->
                    audiences != null
                        && audiences.stream().anyMatch(settings.audiences()::contains)));
    made.setJwtValidator(new DelegatingOAuth2TokenValidator<>(validators));
    return made;
  }

  /** Whether a bearer token looks like one of these. */
  static boolean looksLikeOne(String token) {
    int first = token.indexOf('.');
    return first > 0 && token.indexOf('.', first + 1) > 0;
  }

  /**
   * @throws UnknownJwtException saying why
   */
  Identity byToken(String token) throws UnknownJwtException {
    Verified before = kept.get(token);
    if (before != null && clock.instant().isBefore(before.until())) {
      return before.of();
    }
    if (token.length() > MOST_CHARACTERS) {
      throw new UnknownJwtException(
          "the token has %d characters, the limit is %d".formatted(token.length(), MOST_CHARACTERS),
          false);
    }
    String missing = keys.missingBecause();
    if (missing != null) {
      throw new UnknownJwtException(
          "the keys of issuer '%s' are not known here: %s".formatted(settings.issuer(), missing),
          true);
    }
    Jwt jwt = decoded(token);
    Identity identity = identity(jwt);
    Instant expires = jwt.getExpiresAt();
    if (expires == null) {
      throw new UnknownJwtException("the token never expires; it needs a claim 'exp'", false);
    }
    if (kept.size() >= MOST_KEPT) {
      kept.clear();
    }
    kept.put(token, new Verified(identity, expires));
    return identity;
  }

  private Jwt decoded(String token) throws UnknownJwtException {
    requireKnownAlgorithm(token);
    try {
      return decoder.decode(token);
    } catch (JwtException e) {
      String why = String.valueOf(e.getMessage());
      if (why.contains("no matching key")) {
        keys.readAgain();
        throw new UnknownJwtException(
            "the token is signed by a key that issuer '%s' did not have when it was last asked; it is asked again"
                .formatted(settings.issuer()),
            true);
      }
      throw new UnknownJwtException("the token is not valid: " + why, false);
    }
  }

  private static void requireKnownAlgorithm(String token) throws UnknownJwtException {
    try {
      if (!ALGORITHMS.contains(SignedJWT.parse(token).getHeader().getAlgorithm())) {
        throw new UnknownJwtException(
            "the token is not valid: it is not signed by RS256, ES256 or the like", false);
      }
    } catch (ParseException e) {
      throw new UnknownJwtException("the token is not valid: " + e.getMessage(), false);
    }
  }

  private Identity identity(Jwt jwt) throws UnknownJwtException {
    String subject = jwt.getClaimAsString(settings.claim());
    if (subject != null) {
      for (Named each : named) {
        if (each.subjects().match(subject)) {
          return each.of();
        }
      }
    }
    throw new UnknownJwtException(
        "the token's claim '%s' is %s, which is no identity's subject"
            .formatted(settings.claim(), shown(subject)),
        false);
  }

  private static String shown(@Nullable String subject) {
    if (subject == null) {
      return "missing";
    }
    String begin = subject.length() > 100 ? subject.substring(0, 100) + "..." : subject;
    return "'" + begin.replaceAll("\\p{Cntrl}", "?") + "'";
  }

  @Override
  public void close() {
    keys.close();
  }
}
