package dev.roundhouse.node.config;

import dev.roundhouse.platform.config.KnownKeys;
import dev.roundhouse.platform.config.UnknownKeyCheck;

/** The keys that a node reads. */
public final class NodeKeys {
  private NodeKeys() {}

  /** Refuses others. */
  public static UnknownKeyCheck check() {
    return new UnknownKeyCheck(
        NodeProperties.PREFIX, NodeProperties.class, UnknownKeyCheck.Names.ANY);
  }

  static KnownKeys known() {
    return new KnownKeys(NodeProperties.PREFIX, NodeProperties.class);
  }
}
