package dev.roundhouse.platform.access;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSSigner;
import com.nimbusds.jose.crypto.ECDSASigner;
import com.nimbusds.jose.crypto.MACSigner;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWKSet;
import com.nimbusds.jose.jwk.gen.ECKeyGenerator;
import com.nimbusds.jwt.JWTClaimsSet;
import com.nimbusds.jwt.PlainJWT;
import com.nimbusds.jwt.SignedJWT;
import com.sun.net.httpserver.HttpServer;
import io.grpc.Status;
import io.grpc.StatusException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Date;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tokens of an OpenID provider, which is a real HTTP server here with keys of its own. */
@Timeout(120)
class JwtTest {
  private static final InetSocketAddress HERE = new InetSocketAddress("127.0.0.1", 4242);

  private HttpServer provider;
  private String issuer;
  private ECKey key;
  private volatile String keys;
  private final AtomicInteger asked = new AtomicInteger();
  private Instant now = Instant.now();

  @BeforeEach
  void start() throws Exception {
    provider = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    issuer = "http://127.0.0.1:" + provider.getAddress().getPort() + "/realm";
    serve(
        "/realm/.well-known/openid-configuration",
        () -> "{\"issuer\":\"%s\",\"jwks_uri\":\"%s/keys\"}".formatted(issuer, issuer));
    serve(
        "/realm/keys",
        () -> {
          asked.incrementAndGet();
          return keys;
        });
    key = made("one");
    keys = new JWKSet(key.toPublicJWK()).toString();
    provider.start();
  }

  private interface Text {
    String now();
  }

  private void serve(String path, Text text) {
    provider.createContext(
        path,
        exchange -> {
          try (exchange) {
            byte[] body = text.now().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(body.length == 0 ? 503 : 200, body.length);
            exchange.getResponseBody().write(body);
          }
        });
  }

  @AfterEach
  void stop() {
    provider.stop(0);
  }

  private static ECKey made(String id) throws JOSEException {
    return new ECKeyGenerator(Curve.P_256).keyID(id).generate();
  }

  private Access access() throws Exception {
    Map<String, String> settings = new HashMap<>();
    settings.put("inference", "token");
    settings.put("jwt.issuer", issuer);
    settings.put("jwt.audiences", "ranking");
    settings.put("identities.robots.subjects", "system:*,anna");
    settings.put("identities.robots.may", "inference");
    return new Access(
        AccessTest.properties(settings), "k.access", false, (InstantSource) () -> now);
  }

  private JWTClaimsSet.Builder claims() {
    return new JWTClaimsSet.Builder()
        .issuer(issuer)
        .audience("ranking")
        .subject("system:batch")
        .issueTime(Date.from(now))
        .expirationTime(Date.from(now.plusSeconds(300)));
  }

  private static String signed(JWTClaimsSet claims, ECKey by) throws JOSEException {
    return signed(
        claims,
        new JWSHeader.Builder(JWSAlgorithm.ES256).keyID(by.getKeyID()).build(),
        new ECDSASigner(by));
  }

  private static String signed(JWTClaimsSet claims, JWSHeader header, JWSSigner signer)
      throws JOSEException {
    SignedJWT token = new SignedJWT(header, claims);
    token.sign(signer);
    return token.serialize();
  }

  private static String admitted(Access access, String token) throws StatusException {
    return access
        .admit(
            ApiCategory.INFERENCE,
            false,
            "X/Do",
            new Credentials(HERE, null, "Bearer " + token, null))
        .name();
  }

  private static Status refusal(Access access, String token) {
    StatusException refused =
        catchThrowableOfType(StatusException.class, () -> admitted(access, token));
    assertThat(refused).isNotNull();
    return refused.getStatus();
  }

  /** Its keys are read by another thread. */
  private static void awaitKeys(Access access, String token) throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (System.nanoTime() < end) {
      try {
        admitted(access, token);
        return;
      } catch (StatusException e) {
        assertThat(e.getStatus().getCode()).isEqualTo(Status.Code.UNAVAILABLE);
        Thread.sleep(10);
      }
    }
    throw new AssertionError("never admitted");
  }

  @Test
  void shouldKnowACallerByItsClaim() throws Exception {
    try (Access access = access()) {
      String token = signed(claims().build(), key);
      awaitKeys(access, token);
      assertThat(admitted(access, token)).isEqualTo("robots");
      assertThat(admitted(access, signed(claims().subject("anna").build(), key)))
          .isEqualTo("robots");
      Status other = refusal(access, signed(claims().subject("anna\n2").build(), key));
      assertThat(other.getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
      assertThat(other.getDescription())
          .contains("the token's claim 'sub' is 'anna?2', which is no identity's subject");
      assertThat(asked.get()).isEqualTo(1);
    }
  }

  @Test
  void shouldRefuseATokenThatIsNotForHereOrOver() throws Exception {
    try (Access access = access()) {
      String token = signed(claims().build(), key);
      awaitKeys(access, token);
      Map<String, Consumer<JWTClaimsSet.Builder>> wrong =
          Map.of(
              "issuer", claims -> claims.issuer(issuer + "2"),
              "audience", claims -> claims.audience("billing"),
              "none", claims -> claims.audience((String) null),
              "over", claims -> claims.expirationTime(Date.from(now.minusSeconds(31))),
              "forever", claims -> claims.expirationTime(null),
              "later", claims -> claims.notBeforeTime(Date.from(now.plusSeconds(120))));
      for (Map.Entry<String, Consumer<JWTClaimsSet.Builder>> each : wrong.entrySet()) {
        JWTClaimsSet.Builder claims = claims();
        each.getValue().accept(claims);
        assertThat(refusal(access, signed(claims.build(), key)).getCode())
            .as(each.getKey())
            .isEqualTo(Status.Code.UNAUTHENTICATED);
      }
      now = now.plusSeconds(331);
      assertThat(refusal(access, token).getDescription()).contains("the token is not valid");
    }
  }

  @Test
  void shouldRefuseATokenThatTheIssuerHasNotSigned() throws Exception {
    try (Access access = access()) {
      awaitKeys(access, signed(claims().build(), key));
      ECKey others = made("one"); // of the same name
      assertThat(refusal(access, signed(claims().build(), others)).getCode())
          .isEqualTo(Status.Code.UNAUTHENTICATED);
      assertThat(refusal(access, new PlainJWT(claims().build()).serialize()).getCode())
          .as("signed by nobody")
          .isEqualTo(Status.Code.UNAUTHENTICATED);
      JWSHeader mac = new JWSHeader.Builder(JWSAlgorithm.HS256).keyID("one").build();
      byte[] published = key.toPublicJWK().toJSONString().getBytes(StandardCharsets.UTF_8);
      assertThat(refusal(access, signed(claims().build(), mac, new MACSigner(published))).getCode())
          .as("with the public key for a secret")
          .isEqualTo(Status.Code.UNAUTHENTICATED);
      String good = signed(claims().build(), key);
      assertThat(refusal(access, good.substring(0, good.length() - 2) + "AA").getCode())
          .isEqualTo(Status.Code.UNAUTHENTICATED);
      for (String none : new String[] {"a.b.c", "..", "eyJ.eyJ.", "x".repeat(20_000) + ".a.b"}) {
        assertThat(refusal(access, none).getCode()).isEqualTo(Status.Code.UNAUTHENTICATED);
      }
    }
  }

  @Test
  void shouldSayThatKeysAreMissingAndFindThemLater() throws Exception {
    String served = keys;
    keys = "";
    try (Access access = access()) {
      String token = signed(claims().build(), key);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      Status refused = refusal(access, token);
      while (!String.valueOf(refused.getDescription()).contains("answered 503")) {
        assertThat(System.nanoTime()).as(refused.toString()).isLessThan(end);
        Thread.sleep(10);
        refused = refusal(access, token);
      }
      assertThat(refused.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(refused.getDescription())
          .contains("the keys of issuer '" + issuer + "' are not known here");
      keys = served;
      awaitKeys(access, token);
    }
  }

  @Test
  void shouldAskForKeysAgainWhenATokenIsSignedByAnother() throws Exception {
    try (Access access = access()) {
      awaitKeys(access, signed(claims().build(), key));
      ECKey next = made("two");
      keys = new JWKSet(next.toPublicJWK()).toString();
      String token = signed(claims().build(), next);
      Status refused = refusal(access, token);
      assertThat(refused.getCode()).isEqualTo(Status.Code.UNAVAILABLE);
      assertThat(refused.getDescription()).contains("it is asked again");
      awaitKeys(access, token); // within 10 s and a little: not sooner, whoever sends what
      assertThat(asked.get()).isEqualTo(2);
    }
  }
}
