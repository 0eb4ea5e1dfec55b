package dev.roundhouse.platform.rest;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;

/** The description of the protocol's routes, for tools that make clients or tests of it. */
final class OpenApi {
  private static final int OK = 200;
  static final JsonAnswer DOCUMENT = new JsonAnswer(OK, read());

  private OpenApi() {}

  private static byte[] read() {
    try (InputStream in = OpenApi.class.getResourceAsStream("openapi.json")) {
      return Objects.requireNonNull(in, "openapi.json").readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
