package dev.roundhouse.platform.access;

import java.util.Locale;

/** A way to be admitted to a category. Where there are several, one of them is enough. */
public enum AccessRule {
  /** Everybody is. */
  OPEN,
  /** Callers at an address of the machine's own loopback are. */
  LOOPBACK,
  /** Callers with a bearer token of an identity that may. */
  TOKEN,
  /** Callers with a client certificate of an identity that may. */
  MTLS,
  /** Nobody is. */
  OFF;

  /** The name in the configuration. */
  public String key() {
    return name().toLowerCase(Locale.ROOT);
  }
}
