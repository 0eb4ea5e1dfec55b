package dev.roundhouse.engine.model;

/** Life cycle of a model version. */
public enum ModelState {
  /** Being read, checked, compiled, uploaded or warmed up; requests are refused UNAVAILABLE. */
  LOADING,
  /** Answers requests. */
  READY,
  /** Could not be loaded; the reason says why. Other models and versions are not affected. */
  FAILED,
  /** Refuses requests; those that it accepted still run, and then it is freed. */
  UNLOADING,
  /** Taken out of service and freed. */
  UNLOADED
}
