package dev.roundhouse.engine.hostweights;

/** Whether weights wait in host memory. */
public enum HostWeightsKind {
  /** In host memory from the load on, unless the budget forces them out. */
  KEPT,
  /** Read from the files, through the page cache, each time they are uploaded. */
  RE_READ
}
