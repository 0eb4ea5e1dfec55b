package dev.roundhouse.bundle;

/** One program of a model, wherever its code lies. */
public interface ProgramCode {

  /** Position in the manifest's variants; 0 for a model with one shape. */
  int variant();

  /** Rows it is compiled for; 0 when that is to be read from its signature. */
  int batchSize();

  /** What to call it in messages: a file name. */
  String name();

  /**
   * The artifact, StableHLO text or bytecode. The caller may keep it.
   *
   * @throws dev.roundhouse.bundle.error.BundleException when it cannot be read or is not what the
   *     bundle promises
   */
  byte[] read();
}
