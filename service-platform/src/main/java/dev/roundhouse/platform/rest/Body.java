package dev.roundhouse.platform.rest;

import java.nio.ByteBuffer;

/**
 * A request's decompressed body in memory.
 *
 * @param bytes whose first {@code length} are the body
 */
public record Body(byte[] bytes, int length) {

  /** A part of it, which shares its memory. */
  public ByteBuffer slice(int at, int size) {
    return ByteBuffer.wrap(bytes, at, size).slice().asReadOnlyBuffer();
  }
}
