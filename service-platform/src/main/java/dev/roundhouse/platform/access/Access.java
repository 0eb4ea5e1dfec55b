package dev.roundhouse.platform.access;

import dev.roundhouse.platform.access.CallerSeal.Sealed;
import dev.roundhouse.platform.access.CallerSeal.Shown;
import dev.roundhouse.platform.access.JwtCallers.UnknownJwtException;
import dev.roundhouse.platform.access.KnownCallers.UnknownTokenException;
import dev.roundhouse.transport.io.Seldom;
import io.grpc.Status;
import io.grpc.StatusException;
import java.io.IOException;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Decides who may do what, by the configuration. Thread-safe; does not block. */
public final class Access implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(Access.class);

  /** The header by which a gateway tells a worker who calls. Gateways drop it from clients. */
  public static final String SEALED_CALLER = "roundhouse-sealed-caller";

  private static final String BEARER = "bearer ";
  private static final Set<AccessRule> OPEN = EnumSet.of(AccessRule.OPEN);

  /** Of what changes something, where nothing is set. */
  private static final Set<AccessRule> GUARDED =
      EnumSet.of(AccessRule.LOOPBACK, AccessRule.TOKEN, AccessRule.MTLS);

  /** Seals are made anew after a third of the time that they are valid for. */
  private static final long SEAL_SECONDS = CallerSeal.VALID_SECONDS / 3;

  private static final int MOST_SEALS = 1024;

  private final AccessProperties settings;
  private final String key;
  private final boolean believesGateways;
  private final InstantSource clock;
  private final Map<ApiCategory, Set<AccessRule>> rules;
  private final Map<String, Identity> identities = new HashMap<>();
  private final Map<Sealed, Seal> seals = new ConcurrentHashMap<>();
  private final LongAdder[] refused = new LongAdder[Reason.values().length];
  private final Seldom[] warnings = new Seldom[Reason.values().length];
  private final @Nullable JwtCallers jwts;
  private volatile KnownCallers known;

  /** Why a call was refused. */
  public enum Reason {
    /** It showed nothing, or something that is not valid. */
    UNAUTHENTICATED,
    /** Its caller may not. */
    DENIED,
    /** Its caller has used up a quota. */
    QUOTA
  }

  private record Seal(String text, long madeSeconds) {}

  /**
   * Reads the files that the settings name.
   *
   * @param key of the settings
   * @param believesGateways whether callers may be gateways, which say whom they call for
   * @throws IOException naming the file that cannot be read, and why
   */
  public Access(
      AccessProperties settings, String key, boolean believesGateways, InstantSource clock)
      throws IOException {
    this.settings = settings;
    this.key = key;
    this.believesGateways = believesGateways;
    this.clock = clock;
    rules = settings.rules();
    settings
        .identities()
        .forEach((name, each) -> identities.put(name, Identity.of(name, each, System::nanoTime)));
    Arrays.setAll(refused, i -> new LongAdder());
    Arrays.setAll(warnings, i -> new Seldom());
    known = KnownCallers.read(settings, identities, clock);
    jwts = settings.jwt().issuer().isEmpty() ? null : new JwtCallers(settings, identities, clock);
  }

  @Override
  public void close() {
    if (jwts != null) {
      jwts.close();
    }
  }

  /** Of the settings. */
  String key() {
    return key;
  }

  AccessProperties settings() {
    return settings;
  }

  /** Reads the files again; what was read before stays when that fails. */
  void reload() throws IOException {
    known = KnownCallers.read(settings, identities, clock);
    seals.clear();
  }

  /** Calls refused so far. */
  public long refused(Reason reason) {
    return refused[reason.ordinal()].sum();
  }

  void countRefused(Reason reason) {
    refused[reason.ordinal()].increment();
  }

  /** True when nobody is ever refused, and nobody is known: a call need not be asked about. */
  public boolean isFree(ApiMethod method) {
    return method.effect() == ApiMethod.Effect.READS
        && rules(method.category(), false).equals(OPEN)
        && identities.isEmpty()
        && known.isEmpty();
  }

  private Set<AccessRule> rules(ApiCategory category, boolean changes) {
    Set<AccessRule> set = rules.get(category);
    return set != null ? set : changes ? GUARDED : OPEN;
  }

  /**
   * Admits a call, or refuses it.
   *
   * @param changes whether it changes something
   * @param what is called, for people
   * @throws StatusException UNAUTHENTICATED when who calls is not known and would have to be,
   *     PERMISSION_DENIED when the caller may not
   */
  public Admitted admit(ApiCategory category, boolean changes, String what, Credentials from)
      throws StatusException {
    Set<AccessRule> ways = rules(category, changes);
    if (ways.contains(AccessRule.OFF)) {
      throw refusal(
          Reason.DENIED,
          Status.PERMISSION_DENIED,
          "%s is switched off by %s.%s=off".formatted(what, key, category.key()));
    }
    Admitted caller = identify(what, from);
    if (caller.shown() == Shown.GATEWAY
        || ways.contains(AccessRule.OPEN)
        || (ways.contains(AccessRule.LOOPBACK) && caller.isLocal())) {
      return caller;
    }
    Identity identity = caller.identity();
    if (identity == null || !ways.contains(wayOf(caller.shown()))) {
      throw needs(ways, category, what, from, caller);
    }
    if (!identity.may(category)) {
      throw refusal(
          Reason.DENIED,
          Status.PERMISSION_DENIED,
          "'%s' may not use %s: add '%s' to %s.identities.%s.may"
              .formatted(identity.name(), what, category.key(), key, identity.name()));
    }
    return caller;
  }

  /** Whether a caller may change something, or might if it showed who it is. */
  public boolean mightChange(ApiCategory category, Credentials from) {
    Set<AccessRule> ways = rules(category, true);
    if (ways.contains(AccessRule.OFF)) {
      return false;
    }
    try {
      Admitted caller = identify("the live page", from);
      boolean isAdmitted =
          caller.shown() == Shown.GATEWAY
              || ways.contains(AccessRule.OPEN)
              || (ways.contains(AccessRule.LOOPBACK) && caller.isLocal());
      return isAdmitted || (isByIdentity(ways) && someoneMay(category));
    } catch (StatusException e) {
      return false;
    }
  }

  private static boolean isByIdentity(Set<AccessRule> ways) {
    return ways.contains(AccessRule.TOKEN) || ways.contains(AccessRule.MTLS);
  }

  private boolean someoneMay(ApiCategory category) {
    return identities.values().stream().anyMatch(identity -> identity.may(category));
  }

  private static AccessRule wayOf(Shown shown) {
    return shown == Shown.TOKEN ? AccessRule.TOKEN : AccessRule.MTLS;
  }

  private StatusException needs(
      Set<AccessRule> ways, ApiCategory category, String what, Credentials from, Admitted caller) {
    boolean hasIdentities = someoneMay(category);
    String set = key + "." + category.key();
    if (ways.contains(AccessRule.TOKEN) && hasIdentities) {
      String also = ways.contains(AccessRule.MTLS) ? ", or a client certificate" : "";
      return refusal(
          Reason.UNAUTHENTICATED,
          Status.UNAUTHENTICATED,
          "%s needs a bearer token of an identity that may use '%s'%s; send 'authorization: Bearer ...'. This call came from %s"
              .formatted(what, category.key(), also, caller(from, caller)));
    }
    if (ways.contains(AccessRule.MTLS) && hasIdentities) {
      return refusal(
          Reason.UNAUTHENTICATED,
          Status.UNAUTHENTICATED,
          "%s needs a client certificate of an identity that may use '%s'. This call came from %s"
              .formatted(what, category.key(), caller(from, caller)));
    }
    String rule =
        rules.containsKey(category)
            ? "%s=%s".formatted(set, text(ways))
            : "%s is not set".formatted(set);
    return refusal(
        Reason.DENIED,
        Status.PERMISSION_DENIED,
        "%s is taken from this machine only (%s), and this call came from %s; for callers elsewhere, give them a token: %s.identities.NAME.token-files and .may=%s"
            .formatted(what, rule, caller(from, caller), key, category.key()));
  }

  private static String caller(Credentials from, Admitted caller) {
    return caller.name().isEmpty() ? from.from() : "'" + caller.name() + "' at " + from.from();
  }

  private static String text(Set<AccessRule> ways) {
    return ways.stream().sorted().map(AccessRule::key).collect(Collectors.joining(","));
  }

  private StatusException refusal(Reason reason, Status status, String text) {
    countRefused(reason);
    if (warnings[reason.ordinal()].isTime()) {
      log.warn("{}. Further refusals of this kind are only counted, for a minute", text);
    }
    return status.withDescription(text).asException();
  }

  private Admitted identify(String what, Credentials from) throws StatusException {
    KnownCallers callers = known;
    if (callers.isEmpty()) {
      return new Admitted(this, null, from.isLocal(), Shown.NOTHING);
    }
    CallerSeal seal = callers.seal();
    if (from.sealed() != null && believesGateways) {
      if (seal == null) {
        throw refusal(
            Reason.UNAUTHENTICATED,
            Status.UNAUTHENTICATED,
            "the call has a header '%s', which is believed of gateways alone: set %s.gateway-key-files to the gateway's"
                .formatted(SEALED_CALLER, key));
      }
      return ofGateway(callers, seal, what, from.sealed(), from);
    }
    String token = bearer(from.authorization());
    if (token != null) {
      try {
        Identity identity =
            jwts != null && JwtCallers.looksLikeOne(token)
                ? jwts.byToken(token)
                : callers.byToken(token);
        return new Admitted(this, identity, from.isLocal(), Shown.TOKEN);
      } catch (UnknownJwtException e) {
        throw refusal(
            Reason.UNAUTHENTICATED,
            e.isTemporary() ? Status.UNAVAILABLE : Status.UNAUTHENTICATED,
            "%s is refused: %s. The call came from %s"
                .formatted(what, e.getMessage(), from.from()));
      } catch (UnknownTokenException e) {
        throw refusal(
            Reason.UNAUTHENTICATED,
            Status.UNAUTHENTICATED,
            "%s is refused: %s. The call came from %s"
                .formatted(what, e.getMessage(), from.from()));
      }
    }
    Identity certified = callers.byCertificate(from);
    return new Admitted(
        this, certified, from.isLocal(), certified == null ? Shown.NOTHING : Shown.MTLS);
  }

  private Admitted ofGateway(
      KnownCallers callers, CallerSeal seal, String what, String header, Credentials from)
      throws StatusException {
    Sealed said = seal.open(header);
    if (said == null) {
      throw refusal(
          Reason.UNAUTHENTICATED,
          Status.UNAUTHENTICATED,
          "%s is refused: its header '%s' is signed by none of %s.gateway-key-files, or at a time that is more than %d s from here. The call came from %s"
              .formatted(what, SEALED_CALLER, key, CallerSeal.VALID_SECONDS, from.from()));
    }
    return new Admitted(this, callers.named(said), said.isLocal(), said.shown());
  }

  private static @Nullable String bearer(@Nullable String authorization) {
    return authorization != null && authorization.regionMatches(true, 0, BEARER, 0, BEARER.length())
        ? authorization.substring(BEARER.length()).strip()
        : null;
  }

  /** What workers are told of a caller; null when there is no key to sign with. */
  @Nullable String sealed(Sealed caller) {
    CallerSeal seal = known.seal();
    if (seal == null) {
      return null;
    }
    long now = TimeUnit.MILLISECONDS.toSeconds(clock.millis());
    Seal made = seals.get(caller);
    if (made == null || now - made.madeSeconds() > SEAL_SECONDS || now < made.madeSeconds()) {
      made = new Seal(seal.seal(caller), now);
      if (seals.size() >= MOST_SEALS) {
        seals.clear();
      }
      seals.put(caller, made);
    }
    return made.text();
  }

  /** What workers are told by the gateway itself; null when there is no key to sign with. */
  public @Nullable String sealedSelf() {
    return sealed(new Sealed(true, Shown.GATEWAY, "", ""));
  }

  /** Which categories need a token by their setting, and which a certificate. */
  List<ApiCategory> categoriesBy(AccessRule way) {
    return rules.entrySet().stream()
        .filter(each -> each.getValue().contains(way))
        .map(Map.Entry::getKey)
        .sorted()
        .toList();
  }
}
