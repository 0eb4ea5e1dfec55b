package dev.roundhouse.pjrt;

/** Whether compiler processes are confined: docs/compiling.md says to what. */
public enum CompilerConfinement {
  /** As far as the kernel allows. */
  AUTO,
  /** Whole, or no compiler is opened. */
  REQUIRED,
  NONE
}
