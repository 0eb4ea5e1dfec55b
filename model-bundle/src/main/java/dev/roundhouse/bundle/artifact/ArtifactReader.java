package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.Artifact.Encoding;
import dev.roundhouse.bundle.error.BundleException;
import java.util.Optional;

/** Reads what an artifact says about itself, and refuses what would crash or hang the compiler. */
public final class ArtifactReader {
  private ArtifactReader() {}

  /**
   * Reads an artifact. Text modules are read in full: signature, forbidden ops, replica counts,
   * recursion. Of bytecode only the header is read, so its bytes must be trusted by other means (a
   * digest): flipped bits in bytecode crash XLA.
   *
   * @param code borrowed, never changed
   * @param fileName for messages
   * @throws BundleException when the artifact is refused
   */
  public static Artifact read(byte[] code, String fileName) {
    if (code.length == 0) {
      throw new BundleException(fileName, "is empty; expected a StableHLO module");
    }
    if (BytecodeHeader.matches(code)) {
      return new Artifact(
          Encoding.BYTECODE,
          Optional.empty(),
          Optional.of(BytecodeHeader.producer(code, fileName)));
    }
    ArtifactSignature signature = new TextModule(code, fileName).read();
    return new Artifact(Encoding.TEXT, Optional.of(signature), Optional.empty());
  }
}
