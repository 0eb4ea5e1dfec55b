package dev.roundhouse.gateway.route;

/** Which replica a run of requests begins with, among those equally far behind. */
public enum OpeningPolicy {
  /** The one whose worker has the least work over all models. */
  FILL_LEAST,

  /** The next in turn. */
  FILL_RR
}
