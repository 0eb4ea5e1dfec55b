package dev.roundhouse.platform.access;

import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A caller that is known, with what it may do and has done. Thread-safe. */
final class Identity {
  private static final double NANOS = TimeUnit.SECONDS.toNanos(1);

  private final String name;
  private final Set<ApiCategory> may;
  private final NamePatterns models;
  private final String tenant;
  private final @Nullable Quota requests;
  private final @Nullable Quota bytes;

  private Identity(
      String name,
      Set<ApiCategory> may,
      NamePatterns models,
      String tenant,
      @Nullable Quota requests,
      @Nullable Quota bytes) {
    this.name = name;
    this.may = may;
    this.models = models;
    this.tenant = tenant;
    this.requests = requests;
    this.bytes = bytes;
  }

  static Identity of(String name, IdentityProperties settings, LongSupplier nanoTime) {
    return new Identity(
        name,
        settings.may(),
        new NamePatterns(settings.models()),
        settings.tenant(),
        settings.requestsPerSecond() == null
            ? null
            : new Quota(settings.requestsPerSecond(), nanoTime),
        settings.bytesPerSecond() == null
            ? null
            : new Quota(settings.bytesPerSecond().toBytes(), nanoTime));
  }

  /** One that only the gateway knows, which has checked what it may. */
  static Identity ofGateway(String name, String tenant) {
    return new Identity(
        name, Set.of(ApiCategory.values()), new NamePatterns(List.of("*")), tenant, null, null);
  }

  String name() {
    return name;
  }

  boolean may(ApiCategory category) {
    return may.contains(category);
  }

  /** Empty for none. */
  String tenant() {
    return tenant;
  }

  NamePatterns models() {
    return models;
  }

  /**
   * Takes room for a request.
   *
   * @return null when there is; otherwise why it has to wait, and for how long
   */
  @Nullable String takeRequest() {
    if (bytes != null && bytes.waitNanos() > 0) {
      return "bytes-per-second, which has room in %.3f s".formatted(bytes.waitNanos() / NANOS);
    }
    long wait = requests == null ? 0 : requests.take(1);
    return wait == 0
        ? null
        : "requests-per-second, which has room in %.3f s".formatted(wait / NANOS);
  }

  void arrived(long count) {
    if (bytes != null) {
      bytes.add(count);
    }
  }
}
