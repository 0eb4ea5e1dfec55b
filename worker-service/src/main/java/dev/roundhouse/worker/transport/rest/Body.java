package dev.roundhouse.worker.transport.rest;

import java.nio.ByteBuffer;

/**
 * A request's body in memory, no longer compressed.
 *
 * @param bytes of which {@code length} are the body's
 */
record Body(byte[] bytes, int length) {

  /** A part of it, which shares its memory. */
  ByteBuffer slice(int at, int size) {
    return ByteBuffer.wrap(bytes, at, size).slice().asReadOnlyBuffer();
  }
}
