package dev.roundhouse.platform.access;

import dev.roundhouse.platform.access.CallerSeal.Sealed;
import dev.roundhouse.platform.access.CallerSeal.Shown;
import dev.roundhouse.transport.access.CallerRights;
import io.grpc.Status;
import io.grpc.StatusException;
import org.jspecify.annotations.Nullable;

/** A caller that has been admitted. */
public final class Admitted implements CallerRights {
  private final Access access;
  private final @Nullable Identity identity;
  private final boolean isLocal;
  private final Shown shown;

  Admitted(Access access, @Nullable Identity identity, boolean isLocal, Shown shown) {
    this.access = access;
    this.identity = identity;
    this.isLocal = isLocal;
    this.shown = shown;
  }

  boolean isLocal() {
    return isLocal;
  }

  Shown shown() {
    return shown;
  }

  @Nullable Identity identity() {
    return identity;
  }

  /** The name of the caller's identity; empty for a caller that is not known. */
  public String name() {
    if (shown == Shown.GATEWAY) {
      return "a gateway";
    }
    return identity == null ? "" : identity.name();
  }

  /** True when the caller may use every model. */
  public boolean hasAllModels() {
    return identity == null || identity.models().matchAll();
  }

  /** Whether the caller may use a model. */
  public boolean mayUse(String model) {
    return identity == null || identity.models().match(model);
  }

  @Override
  public void requireModel(String model) throws StatusException {
    if (identity != null && !identity.models().match(model)) {
      throw Status.PERMISSION_DENIED
          .withDescription(
              "'%s' may not use model '%s'; it may use %s (%s.identities.%s.models)"
                  .formatted(name(), model, identity.models(), access.key(), name()))
          .asException();
    }
  }

  @Override
  public void infer(String model) throws StatusException {
    requireModel(model);
    String full = identity == null ? null : identity.takeRequest();
    if (full != null) {
      access.countRefused(Access.Reason.QUOTA);
      throw Status.RESOURCE_EXHAUSTED
          .withDescription(
              "'%s' has used up %s.identities.%s.%s".formatted(name(), access.key(), name(), full))
          .asException();
    }
  }

  @Override
  public String tenant() {
    return identity == null ? "" : identity.tenant();
  }

  @Override
  public void arrived(long bytes) {
    if (identity != null) {
      identity.arrived(bytes);
    }
  }

  @Override
  public @Nullable String sealed() {
    return access.sealed(
        new Sealed(isLocal, shown, identity == null ? "" : identity.name(), tenant()));
  }
}
