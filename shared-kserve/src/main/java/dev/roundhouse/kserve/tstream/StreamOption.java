package dev.roundhouse.kserve.tstream;

import java.util.EnumSet;
import java.util.Set;

/** What a client may ask for in its hello, a bit of its flags each; the server grants some. */
public enum StreamOption {
  /** Each message begins with the microseconds that are left to it, as a u32. */
  DEADLINE(1),
  /** Each message and each result ends with the CRC-32C of all of it before that. */
  CHECKSUM(1 << 1),
  /** Messages say where in shared memory their tensors are, and carry none. */
  SHARED_MEMORY(1 << 2),
  /** Results come in the order of the messages. */
  IN_ORDER(1 << 3),
  /** The server tells of messages that it has taken, and not only of results. */
  ACCEPT_NOTICES(1 << 5);

  private final int bit;

  StreamOption(int bit) {
    this.bit = bit;
  }

  static int flags(Set<StreamOption> options) {
    int flags = 0;
    for (StreamOption option : options) {
      flags |= option.bit;
    }
    return flags;
  }

  /** Those whose bit is set; bits that mean nothing here are passed over, and so not granted. */
  static Set<StreamOption> of(int flags) {
    EnumSet<StreamOption> options = EnumSet.noneOf(StreamOption.class);
    for (StreamOption option : values()) {
      if ((flags & option.bit) != 0) {
        options.add(option);
      }
    }
    return options;
  }
}
