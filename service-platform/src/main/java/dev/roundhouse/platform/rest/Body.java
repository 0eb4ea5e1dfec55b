package dev.roundhouse.platform.rest;

import java.nio.ByteBuffer;

/**
 * A request's body in memory, no longer compressed.
 *
 * @param bytes of which {@code length} are the body's
 */
public record Body(byte[] bytes, int length) {

  /** A part of it, which shares its memory. */
  public ByteBuffer slice(int at, int size) {
    return ByteBuffer.wrap(bytes, at, size).slice().asReadOnlyBuffer();
  }
}
