package dev.roundhouse.platform.access;

import dev.roundhouse.platform.access.CallerSeal.Sealed;
import dev.roundhouse.platform.access.CallerSeal.Shown;
import dev.roundhouse.platform.access.TokenFile.HashedToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.Certificate;
import java.security.cert.CertificateParsingException;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLSession;
import org.jspecify.annotations.Nullable;

/** The identities of a configuration, found by what callers show. Immutable but for quotas. */
final class KnownCallers {
  private static final String OF_SESSION = "roundhouse.identity";
  private static final int URI_NAME = 6;
  private static final int DNS_NAME = 2;

  private final Map<String, Identity> identities;
  private final List<Token> tokens;
  private final List<Certified> certified;
  private final @Nullable CallerSeal seal;
  private final InstantSource clock;

  private record Token(HashedToken hashed, Identity of) {}

  private record Certified(NamePatterns names, Identity of) {}

  /** A token was shown that is not valid. */
  static final class UnknownTokenException extends Exception {
    UnknownTokenException(String message) {
      super(message);
    }
  }

  private KnownCallers(
      Map<String, Identity> identities,
      List<Token> tokens,
      List<Certified> certified,
      @Nullable CallerSeal seal,
      InstantSource clock) {
    this.identities = identities;
    this.tokens = List.copyOf(tokens);
    this.certified = List.copyOf(certified);
    this.seal = seal;
    this.clock = clock;
  }

  /**
   * Reads all files.
   *
   * @param identities by name, as the settings have them; their quotas go on
   * @throws IOException naming the file that cannot be read, and why
   */
  static KnownCallers read(
      AccessProperties settings, Map<String, Identity> identities, InstantSource clock)
      throws IOException {
    List<Token> tokens = new ArrayList<>();
    List<Certified> certified = new ArrayList<>();
    for (Map.Entry<String, IdentityProperties> each :
        new TreeMap<>(settings.identities()).entrySet()) {
      Identity identity = Objects.requireNonNull(identities.get(each.getKey()));
      for (Path file : each.getValue().tokenFiles()) {
        for (HashedToken token : TokenFile.read(file)) {
          tokens.add(new Token(token, identity));
        }
      }
      if (!each.getValue().certificates().isEmpty()) {
        certified.add(new Certified(new NamePatterns(each.getValue().certificates()), identity));
      }
    }
    List<SecretKeySpec> keys = CallerSeal.keys(settings.gatewayKeyFiles());
    return new KnownCallers(
        identities,
        tokens,
        certified,
        keys.isEmpty() ? null : new CallerSeal(keys, clock::millis),
        clock);
  }

  /** True when nobody can be known. */
  boolean isEmpty() {
    return identities.isEmpty() && seal == null;
  }

  /** What signs for workers; null when nothing does. */
  @Nullable CallerSeal seal() {
    return seal;
  }

  /** The identity that a gateway has named. */
  @Nullable Identity named(Sealed sealed) {
    if (sealed.name().isEmpty()) {
      return null;
    }
    Identity own = identities.get(sealed.name());
    return own == null && sealed.shown() != Shown.NOTHING
        ? Identity.ofGateway(sealed.name(), sealed.tenant())
        : own;
  }

  /**
   * Whose a token is. Takes as long for every token.
   *
   * @throws UnknownTokenException when it is nobody's, or is over
   */
  Identity byToken(String token) throws UnknownTokenException {
    byte[] hash = sha256(token);
    Token found = null;
    for (Token each : tokens) {
      if (MessageDigest.isEqual(each.hashed().hash(), hash)) {
        found = each;
      }
    }
    if (found == null) {
      throw new UnknownTokenException(
          token.indexOf(',') < 0
              ? "the bearer token is not known here"
              : "it has more than one 'authorization', or one with a comma; send one");
    }
    Instant expires = found.hashed().expires();
    if (!clock.instant().isBefore(expires)) {
      throw new UnknownTokenException(
          "the bearer token of '%s' has expired at %s".formatted(found.of().name(), expires));
    }
    return found.of();
  }

  /** Whose a connection's certificate is; null without one, or when it is nobody's. */
  @Nullable Identity byCertificate(Credentials shown) {
    if (certified.isEmpty()) {
      return null;
    }
    if (shown.certificate() != null) {
      return find(namesOf(shown.certificate()));
    }
    SSLSession session = shown.session();
    return session == null ? null : byCertificate(session);
  }

  private @Nullable Identity byCertificate(SSLSession session) {
    Object seen = session.getValue(OF_SESSION);
    if (seen instanceof Identity identity) {
      return identity;
    }
    Identity found = find(namesOf(session));
    if (found != null) {
      session.putValue(OF_SESSION, found);
    }
    return found;
  }

  private @Nullable Identity find(List<String> names) {
    for (String name : names) {
      for (Certified each : certified) {
        if (each.names().match(name)) {
          return each.of();
        }
      }
    }
    return null;
  }

  private static List<String> namesOf(SSLSession session) {
    try {
      Certificate[] chain = session.getPeerCertificates();
      return chain.length > 0 && chain[0] instanceof X509Certificate certificate
          ? namesOf(certificate)
          : List.of();
    } catch (SSLPeerUnverifiedException e) {
      return List.of(); // it has shown none
    }
  }

  /** Names of a certificate, as {@code uri:...} and {@code dns:...}. */
  static List<String> namesOf(X509Certificate certificate) {
    List<String> names = new ArrayList<>();
    try {
      var alternatives = certificate.getSubjectAlternativeNames();
      for (List<?> name : alternatives == null ? List.<List<?>>of() : alternatives) {
        switch ((Integer) name.get(0)) {
          case URI_NAME -> names.add("uri:" + name.get(1));
          case DNS_NAME -> names.add("dns:" + name.get(1));
          default -> {} // addresses and the like name nobody
        }
      }
    } catch (CertificateParsingException e) {
      return List.of(); // it names nobody that can be read
    }
    return names;
  }

  private static byte[] sha256(String token) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(token.getBytes(StandardCharsets.UTF_8));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every JDK has SHA-256", e);
    }
  }
}
