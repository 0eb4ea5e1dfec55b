package dev.roundhouse.gateway.config;

import dev.roundhouse.platform.config.KnownKeys;
import dev.roundhouse.platform.config.UnknownKeyCheck;

/** The keys that a gateway reads. */
public final class GatewayKeys {
  private GatewayKeys() {}

  /** Refuses others. */
  public static UnknownKeyCheck check() {
    return new UnknownKeyCheck(
        GatewayProperties.PREFIX, GatewayProperties.class, UnknownKeyCheck.Names.ANY);
  }

  static KnownKeys known() {
    return new KnownKeys(GatewayProperties.PREFIX, GatewayProperties.class);
  }
}
