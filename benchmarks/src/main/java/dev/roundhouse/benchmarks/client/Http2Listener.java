package dev.roundhouse.benchmarks.client;

import java.io.IOException;
import java.nio.ByteBuffer;

/** Is told what comes back. */
interface Http2Listener {

  /** A part of the answer; the bytes are there during the call only. */
  void onData(int stream, ByteBuffer bytes) throws IOException;

  /** The server has ended the call. */
  void onEnd(int stream) throws IOException;
}
