package dev.roundhouse.transport.http2;

/** Frames of a client that concern its connection as a whole. On the connection's event loop. */
interface PeerEvents {
  /** The client's settings, its first frame, have arrived. */
  void settingsReceived();

  /** The client allows this many more bytes for all streams together. */
  void allowed(int bytes);

  void pinged();

  void pingAnswered(long data);
}
