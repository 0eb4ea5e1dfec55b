package dev.roundhouse.engine.transport;

import java.net.SocketAddress;

/** What the server gives one transport. Thread-safe; usable until the transport has stopped. */
public interface TransportContext {

  /** What the operator has set for it. To be read in {@link TransportProvider#open}. */
  TransportSettings settings();

  /** What is served. */
  ModelCatalogue models();

  /** The transport's own meters, to be made in {@link TransportProvider#open}. */
  TransportMeters meters();

  /**
   * Begins to count a client's connection, before anything is read from it. Requests come in by
   * what this returns, which the transport closes when the connection has ended.
   *
   * @param remote the client's address, as the system has it: who may do what, and whose share of
   *     memory and queues is used, depends on it. A socket address of another kind than {@link
   *     java.net.InetSocketAddress} is this machine's
   * @param relief called by any thread, seldom, when memory is short: the connection should end
   *     what makes no progress, such as a request of which the rest does not come. Must not block
   * @throws ClientRefusedException NO_ROOM when there is no memory for another connection, of all
   *     or of this address, or the transport has as many as it may; UNAVAILABLE when it has been
   *     told to drain
   */
  ClientConnection connect(SocketAddress remote, Runnable relief) throws ClientRefusedException;

  /** The clock of deadlines, in nanoseconds from any origin. */
  long nanoTime();

  /**
   * Says that a thread which the transport cannot serve without has died. The server ends every
   * request, says that it is not alive, and the process ends within seconds, to be restarted. For
   * errors of one client, close its connection instead.
   */
  void fail(Throwable cause);
}
