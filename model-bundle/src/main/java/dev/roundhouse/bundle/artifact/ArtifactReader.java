package dev.roundhouse.bundle.artifact;

import dev.roundhouse.bundle.artifact.Artifact.Encoding;
import dev.roundhouse.bundle.bytecode.BytecodeModule;
import dev.roundhouse.bundle.bytecode.MalformedBytecodeException;
import dev.roundhouse.bundle.error.BundleException;
import java.util.Optional;

/** Reads what an artifact says about itself, and refuses what would crash or hang the compiler. */
public final class ArtifactReader {
  private ArtifactReader() {}

  /**
   * Reads an artifact. Text modules are read in full: signature, forbidden ops, custom calls,
   * comparators of sorts, replica counts, recursion, calls that multiply. Of portable artifacts the
   * same is read but for the signature and replica counts; of bytecode in another encoding the
   * header alone. Bytes must be trusted by other means (a digest): flipped bits in bytecode crash
   * XLA.
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
      String producer = BytecodeHeader.producer(code, fileName);
      checkBytecode(code, fileName);
      return new Artifact(Encoding.BYTECODE, Optional.empty(), Optional.of(producer));
    }
    if (hasByteOrderMark(code)) {
      throw new BundleException(
          fileName,
          "begins with a UTF-8 byte order mark (bytes EF BB BF), which the compiler takes for MLIR"
              + " it cannot read; save it as UTF-8 without one, and put the new sha256 where the"
              + " manifest lists the file");
    }
    ArtifactSignature signature = new TextModule(code, fileName).read();
    TextHazards.check(code, fileName);
    return new Artifact(Encoding.TEXT, Optional.of(signature), Optional.empty());
  }

  /** Editors of Windows put one before text. */
  private static boolean hasByteOrderMark(byte[] code) {
    return code.length >= 3
        && code[0] == (byte) 0xEF
        && code[1] == (byte) 0xBB
        && code[2] == (byte) 0xBF;
  }

  private static void checkBytecode(byte[] code, String fileName) {
    BytecodeModule module;
    try {
      module = BytecodeModule.read(code);
    } catch (MalformedBytecodeException unknown) {
      return; // an encoding for the compiler alone to read, which then also runs it on trial
    }
    try {
      BytecodeHazards.check(module, fileName);
    } catch (MalformedBytecodeException odd) {
      throw new BundleException(
          fileName,
          "MLIR bytecode is damaged: " + odd.getMessage() + "; export the module again",
          odd);
    }
  }
}
