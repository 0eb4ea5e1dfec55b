package dev.roundhouse.platform.access;

import java.time.Duration;
import java.util.List;
import org.hibernate.validator.constraints.time.DurationMax;
import org.hibernate.validator.constraints.time.DurationMin;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Bearer tokens that an OpenID provider has issued.
 *
 * @param issuer Of the tokens, such as `https://login.example.org/realms/ml`. Empty: none are
 *     taken.
 * @param keys Where the issuer's keys are (a JWK set). Empty: where the issuer's
 *     `/.well-known/openid-configuration` says.
 * @param audiences One of these must be a token's `aud`; needed.
 * @param claim What names the caller, which an identity's `subjects` are compared with.
 * @param clockSkew By how much clocks may differ.
 * @param refresh How often the keys are read again; besides when a token is signed by one that is
 *     not known, but not within 10 s of the last time.
 */
public record JwtProperties(
    @DefaultValue("") String issuer,
    @DefaultValue("") String keys,
    @DefaultValue List<String> audiences,
    @DefaultValue("sub") String claim,
    @DurationMin(seconds = 0) @DurationMax(minutes = 5) @DefaultValue("30s") Duration clockSkew,
    @DurationMin(seconds = 10) @DurationMax(hours = 24) @DefaultValue("5m") Duration refresh) {

  /** None are taken. */
  public static final JwtProperties NONE =
      new JwtProperties("", "", List.of(), "sub", Duration.ofSeconds(30), Duration.ofMinutes(5));

  public JwtProperties {
    audiences = List.copyOf(audiences);
  }
}
