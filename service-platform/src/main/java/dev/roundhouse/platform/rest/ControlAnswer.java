package dev.roundhouse.platform.rest;

import java.util.Map;

/** What a request is answered with, made as a whole before any of it is sent. */
interface ControlAnswer {
  /** HTTP's. */
  int code();

  /** Empty for none. */
  byte[] body();

  /** The Content-Type of the body. */
  String type();

  /** Headers besides. */
  Map<String, String> headers();
}
