package dev.roundhouse.worker.transport.v1;

import dev.roundhouse.kserve.v1.proto.InferRequestHeader;

/**
 * A v1 request for inference but its tensors' bytes; nothing of it has been checked.
 *
 * @param version {@link #LATEST} for the one that answers
 */
record AskedModel(String name, long version, InferRequestHeader header) {
  static final long LATEST = -1;

  /** The version as v2 writes it. */
  String versionText() {
    return version == LATEST ? "" : Long.toString(version);
  }

  /** The id as v2 writes it; without one, as in v1, it is 0. */
  String id() {
    return header.getId() == 0 ? "" : Long.toUnsignedString(header.getId());
  }
}
