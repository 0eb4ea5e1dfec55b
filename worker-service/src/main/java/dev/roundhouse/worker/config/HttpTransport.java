package dev.roundhouse.worker.config;

/** What carries HTTP. */
public enum HttpTransport {
  /** The worker's own server answers inference on event loops; Tomcat, behind it, all else. */
  EVENT_LOOP,
  /** Tomcat answers everything. */
  TOMCAT
}
