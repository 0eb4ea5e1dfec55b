package dev.roundhouse.engine.model;

/** Life cycle of a model version. */
public enum ModelState {
  /** Being read, checked, compiled, uploaded or warmed up; requests are refused UNAVAILABLE. */
  LOADING,
  /** Answers requests. */
  READY,
  /** Could not be loaded; the reason says why. Other models are not affected. */
  FAILED,
  /** Taken out of service. */
  UNLOADED
}
