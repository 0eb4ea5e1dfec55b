package dev.roundhouse.platform.access;

import dev.roundhouse.platform.access.Doors.Door;
import dev.roundhouse.platform.config.StartRefusedException;
import java.io.IOException;
import java.time.InstantSource;
import java.util.Set;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Refuses a start whose settings of access contradict each other, or would let in anybody. */
public final class AccessStart {
  private static final Logger log = LoggerFactory.getLogger(AccessStart.class);

  /** Of categories whose methods change something. */
  private static final Set<ApiCategory> CHANGING =
      Set.of(
          ApiCategory.SHARED_MEMORY,
          ApiCategory.MODEL_REPOSITORY,
          ApiCategory.TRACE,
          ApiCategory.LOGGING,
          ApiCategory.CONTROL);

  private AccessStart() {}

  /**
   * Reads the files that the settings name, and checks the rest.
   *
   * @param key of the settings
   * @param believesGateways whether callers may be gateways, which say whom they call for
   * @throws StartRefusedException saying what to write instead
   */
  public static Access open(
      AccessProperties settings, String key, boolean believesGateways, Doors doors) {
    settings.rules().forEach((category, rules) -> check(settings, key, category, rules, doors));
    checkJwt(settings, key);
    try {
      Access access = new Access(settings, key, believesGateways, InstantSource.system());
      warnOfPlainText(settings, key, doors);
      return access;
    } catch (IOException e) {
      throw new StartRefusedException(
          "%s cannot be read: %s".formatted(key, text(e)),
          "Correct the file, or what %s says of it.".formatted(key),
          e);
    }
  }

  static String text(IOException e) {
    return e instanceof java.nio.file.NoSuchFileException
        ? e.getMessage() + " does not exist"
        : String.valueOf(e.getMessage());
  }

  private static void check(
      AccessProperties settings,
      String key,
      ApiCategory category,
      Set<AccessRule> rules,
      Doors doors) {
    String set = key + "." + category.key();
    if (rules.size() > 1 && (rules.contains(AccessRule.OPEN) || rules.contains(AccessRule.OFF))) {
      throw new StartRefusedException(
          "%s=%s: 'open' and 'off' stand alone.".formatted(set, text(rules)),
          "Leave out one or the others.");
    }
    if (rules.contains(AccessRule.OPEN) && CHANGING.contains(category)) {
      doors.ports().stream()
          .filter(Door::isBeyondLoopback)
          .findFirst()
          .ifPresent(door -> refuseOpen(set, category, door));
    }
    if (rules.contains(AccessRule.TOKEN)) {
      require(
          settings.identities().values().stream()
              .anyMatch(each -> hasToken(settings, each) && each.may().contains(category)),
          "%s=%s, and no identity with a token may use '%s'."
              .formatted(set, text(rules), category.key()),
          "Write %s.identities.NAME.token-files=FILE and %s.identities.NAME.may=%s; './roundhouse token' makes a token and its line of the file."
              .formatted(key, key, category.key()));
    }
    if (rules.contains(AccessRule.MTLS)) {
      require(
          settings.identities().values().stream()
              .anyMatch(each -> !each.certificates().isEmpty() && each.may().contains(category)),
          "%s=%s, and no identity with a certificate may use '%s'."
              .formatted(set, text(rules), category.key()),
          "Write %s.identities.NAME.certificates=dns:HOST and %s.identities.NAME.may=%s."
              .formatted(key, key, category.key()));
      require(
          doors.ports().stream().anyMatch(Door::verifiesClients),
          "%s=%s, and no port asks its clients for certificates.".formatted(set, text(rules)),
          "Write spring.grpc.server.ssl.bundle=NAME and spring.grpc.server.ssl.client-auth=optional, and server.ssl.bundle and server.ssl.client-auth=want for HTTP.");
    }
  }

  private static boolean hasToken(AccessProperties settings, IdentityProperties identity) {
    return !identity.tokenFiles().isEmpty()
        || (!identity.subjects().isEmpty() && !settings.jwt().issuer().isEmpty());
  }

  private static void checkJwt(AccessProperties settings, String key) {
    JwtProperties jwt = settings.jwt();
    boolean hasSubjects =
        settings.identities().values().stream().anyMatch(each -> !each.subjects().isEmpty());
    require(
        !hasSubjects || !jwt.issuer().isEmpty(),
        "identities of %s have subjects, and %s.jwt.issuer is not set.".formatted(key, key),
        "Write %s.jwt.issuer=https://... and %s.jwt.audiences=NAME.".formatted(key, key));
    require(
        jwt.issuer().isEmpty() || !jwt.audiences().isEmpty(),
        "%s.jwt.issuer is set and %s.jwt.audiences is not: a token for any other service of that issuer would do here."
            .formatted(key, key),
        "Write %s.jwt.audiences=NAME, as the issuer writes it into tokens for this service."
            .formatted(key));
    for (String address : new String[] {jwt.issuer(), jwt.keys()}) {
      require(
          address.isEmpty() || address.startsWith("https://") || address.startsWith("http://"),
          "%s.jwt has '%s', which is no address.".formatted(key, address),
          "Write one such as https://login.example.org/realms/ml.");
    }
  }

  private static void refuseOpen(String set, ApiCategory category, Door door) {
    throw new StartRefusedException(
        "%s=open would let anybody who reaches this machine change it: %s is not a loopback address."
            .formatted(set, door.key()),
        "Write %s=loopback,token and an identity with a token that may use '%s', or leave %s out."
            .formatted(set, category.key(), set));
  }

  private static void require(boolean holds, String description, String action) {
    if (!holds) {
      throw new StartRefusedException(description, action);
    }
  }

  private static void warnOfPlainText(AccessProperties settings, String key, Doors doors) {
    boolean hasTokens =
        settings.identities().values().stream().anyMatch(each -> !each.tokenFiles().isEmpty());
    String plain =
        doors.ports().stream()
            .filter(door -> door.isBeyondLoopback() && !door.isSecure())
            .map(Door::key)
            .collect(Collectors.joining(", "));
    if (hasTokens && !plain.isEmpty()) {
      log.warn(
          "{}: tokens can be read on their way to ports that take plain text ({}); give them TLS, or a network that nobody else is in",
          key,
          plain);
    }
  }

  private static String text(Set<AccessRule> rules) {
    return rules.stream().sorted().map(AccessRule::key).collect(Collectors.joining(","));
  }
}
