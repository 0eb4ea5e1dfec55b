package dev.roundhouse.bundle.artifact;

import java.util.Optional;

/**
 * What an artifact says about itself.
 *
 * @param signature types of {@code @main}; empty when the encoding does not show them without MLIR,
 *     so that they must be checked on the compiled program
 * @param producer what wrote a bytecode artifact, such as {@code StableHLO_v1.13.0}
 */
public record Artifact(
    Encoding encoding, Optional<ArtifactSignature> signature, Optional<String> producer) {

  public enum Encoding {
    /** StableHLO as people read it. */
    TEXT,
    /** MLIR bytecode, portable (VHLO) artifacts included. */
    BYTECODE
  }
}
