package dev.roundhouse.platform.tstream;

import io.netty.channel.ChannelHandler;

/** A client's connection, by which its server handles it. */
public interface StreamPeer extends ChannelHandler {

  /** The server stops: nothing new is begun. Any thread. */
  void drain();

  /** Memory is short: what makes no progress is to end. Any thread. */
  void relieve();
}
