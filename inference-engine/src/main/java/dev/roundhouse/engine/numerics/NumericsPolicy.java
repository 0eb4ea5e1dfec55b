package dev.roundhouse.engine.numerics;

/** Whether products of f32 may be computed with factors rounded to TF32's 10 bits. */
public enum NumericsPolicy {
  /**
   * Never: programs are rewritten so that they cannot, one that cannot be rewritten is refused, and
   * a device that rounds all the same is not started.
   */
  F32,
  /** As programs say; on a device without TF32, those that ask for it are computed in f32. */
  AUTO,
  /** As programs say, on a device that has it; another is not started. */
  TF32
}
