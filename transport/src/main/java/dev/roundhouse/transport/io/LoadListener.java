package dev.roundhouse.transport.io;

/**
 * Hears how much a server has open: each connection and each call once when it begins and once when
 * it ends. Called on event loops, so it must be brief. Thread-safe.
 */
public interface LoadListener {
  /** One that does not listen. */
  LoadListener NONE =
      new LoadListener() {
        @Override
        public void connectionOpened() {}

        @Override
        public void connectionClosed() {}

        @Override
        public void callOpened() {}

        @Override
        public void callClosed() {}

        @Override
        public void stalled() {}

        @Override
        public void otherProtocol() {}
      };

  /** A socket was accepted; its handshake may still be to come. */
  void connectionOpened();

  void connectionClosed();

  /** A client has opened a stream; its call may still be refused. */
  void callOpened();

  void callClosed();

  /** A call, or a connection, is ended because its client has stopped sending or reading. */
  void stalled();

  /** A connection is ended because its client does not speak HTTP/2. */
  void otherProtocol();
}
