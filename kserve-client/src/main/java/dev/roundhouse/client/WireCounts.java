package dev.roundhouse.client;

import io.grpc.ClientStreamTracer;
import io.grpc.Metadata;

/** What one attempt did on the wire. Written by the transport, read when the attempt has ended. */
final class WireCounts extends ClientStreamTracer {
  private volatile boolean opened;
  private volatile boolean ended;
  private volatile long sentNanos;
  private volatile long firstNanos;
  private volatile long bytesSent;
  private volatile long bytesReceived;

  Factory factory() {
    return new Factory() {
      @Override
      public ClientStreamTracer newClientStreamTracer(StreamInfo info, Metadata headers) {
        return WireCounts.this;
      }
    };
  }

  @Override
  public void outboundHeaders() {
    opened = true;
  }

  @Override
  public void outboundMessageSent(int number, long wireSize, long uncompressedSize) {
    sentNanos = System.nanoTime();
  }

  @Override
  public void inboundHeaders() {
    first();
  }

  @Override
  public void inboundTrailers(Metadata trailers) {
    first();
    ended = true;
  }

  private void first() {
    if (firstNanos == 0) {
      firstNanos = System.nanoTime();
    }
  }

  @Override
  @SuppressWarnings("NonAtomicVolatileUpdate") // the transport's thread alone writes
  public void outboundWireSize(long bytes) {
    bytesSent += bytes;
  }

  @Override
  @SuppressWarnings("NonAtomicVolatileUpdate")
  public void inboundWireSize(long bytes) {
    bytesReceived += bytes;
  }

  /** True when the server will not touch the request any more, or never heard of it. */
  boolean settled() {
    return ended || !opened;
  }

  /** True when the server never heard of the request. */
  boolean unsent() {
    return !opened;
  }

  /** On the clock of {@link System#nanoTime}; 0 when it never was. */
  long sentNanos() {
    return sentNanos;
  }

  /** When the first of the answer came; 0 when nothing did. */
  long firstNanos() {
    return firstNanos;
  }

  long bytesSent() {
    return bytesSent;
  }

  long bytesReceived() {
    return bytesReceived;
  }
}
