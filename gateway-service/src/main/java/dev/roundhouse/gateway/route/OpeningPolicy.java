package dev.roundhouse.gateway.route;

/** Which replica a run of requests begins with, among those that are equally far behind. */
public enum OpeningPolicy {
  /** The one whose worker has least work, of whatever models. */
  FILL_LEAST,

  /** The next in turn. */
  FILL_RR
}
