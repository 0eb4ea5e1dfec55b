package dev.roundhouse.transport.http2;

import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.http2.DefaultHttp2Connection;
import io.netty.handler.codec.http2.DefaultHttp2LocalFlowController;
import io.netty.handler.codec.http2.DefaultHttp2RemoteFlowController;
import io.netty.handler.codec.http2.Http2Connection;
import io.netty.handler.codec.http2.Http2ConnectionDecoder;
import io.netty.handler.codec.http2.Http2ConnectionEncoder;
import io.netty.handler.codec.http2.Http2ConnectionHandler;
import io.netty.handler.codec.http2.Http2Exception;
import io.netty.handler.codec.http2.Http2LocalFlowController;
import io.netty.handler.codec.http2.Http2Settings;
import io.netty.handler.codec.http2.Http2Stream;
import io.netty.handler.codec.http2.UniformStreamByteDistributor;
import org.jspecify.annotations.Nullable;

/** Common to connections to clients and to other servers. */
public abstract class PeerConnection extends Http2ConnectionHandler {
  /** The share of a window below which Netty opens it again. */
  private static final float AT_ONCE = 0.9999f;

  /**
   * Streams that a client of our servers may reset in {@link #WINDOW_SECONDS}, and as many that it
   * may make them reset. Forwarding servers stay below it.
   */
  public static final int MOST_RESETS = 2000;

  public static final int WINDOW_SECONDS = 10;

  /** Used share of a window at which the peer may send as much again. */
  private static final float REFILL = 0.5f;

  /** In a row; a peer may send some between two parts. */
  protected static final int MOST_EMPTY_DATA_FRAMES = 64;

  private @Nullable ChannelHandlerContext ctx;
  private boolean flushing;

  protected PeerConnection(
      Http2ConnectionDecoder decoder, Http2ConnectionEncoder encoder, Http2Settings initial) {
    super(decoder, encoder, initial);
  }

  /** Streams that share the connection evenly. */
  protected static Http2Connection fairConnection(boolean server) {
    Http2Connection fair = new DefaultHttp2Connection(server);
    fair.remote()
        .flowController(
            new DefaultHttp2RemoteFlowController(fair, new UniformStreamByteDistributor(fair)));
    fair.local().flowController(new DefaultHttp2LocalFlowController(fair, REFILL, true));
    return fair;
  }

  @Override
  public final void handlerAdded(ChannelHandlerContext added) throws Exception {
    ctx = added;
    super.handlerAdded(added);
    if (added.channel().isActive()) {
      begin(added);
    }
  }

  @Override
  public final void channelActive(ChannelHandlerContext active) throws Exception {
    super.channelActive(active);
    begin(active);
  }

  /** The connection is established; may be called twice. */
  protected abstract void begin(ChannelHandlerContext active);

  public final ChannelHandlerContext context() {
    ChannelHandlerContext known = ctx;
    if (known == null) {
      throw new IllegalStateException("the connection is not part of a channel");
    }
    return known;
  }

  /** Flushes together with everything written in this turn of the event loop. */
  public final void flushSoon() {
    if (!flushing) {
      flushing = true;
      context()
          .executor()
          .execute(
              () -> {
                flushing = false;
                flush(context());
              });
    }
  }

  /**
   * Widens the connection's window to a stream's: it begins with 64 KiB, which would make a peer
   * that sends more wait.
   */
  protected final void widen(int bytes) {
    Http2LocalFlowController window = connection().local().flowController();
    Http2Stream whole = connection().connectionStream();
    int more = bytes - window.windowSize(whole);
    if (more > 0) {
      try {
        window.incrementWindowSize(whole, more);
        flushSoon();
      } catch (Http2Exception e) {
        onError(context(), true, e);
      }
    }
  }

  /**
   * From now on only {@link #open} opens the stream's window: Netty would keep it at its initial
   * size. Call before what has arrived is counted as read: the peer's answer to our settings sets
   * it back.
   */
  public final void steer(Http2Stream stream) {
    Http2LocalFlowController window = connection().local().flowController();
    int kept = window.initialWindowSize(stream);
    if (kept > 0) {
      try {
        window.incrementWindowSize(stream, -kept);
      } catch (Http2Exception e) {
        onError(context(), true, e);
      }
    }
  }

  /** What the peer may send to a stream. */
  public final int window(Http2Stream stream) {
    return connection().local().flowController().windowSize(stream);
  }

  /** Lets the peer send more to a steered stream. */
  public final void open(Http2Stream stream, int bytes) {
    DefaultHttp2LocalFlowController window =
        (DefaultHttp2LocalFlowController) connection().local().flowController();
    int wide = window.windowSize(stream) + window.unconsumedBytes(stream) + bytes;
    try {
      if (window.windowUpdateRatio(stream) < AT_ONCE) {
        window.windowUpdateRatio(stream, AT_ONCE);
      }
      window.incrementWindowSize(stream, wide); // it is opened up to there
      window.incrementWindowSize(stream, -wide);
    } catch (Http2Exception e) {
      onError(context(), true, e);
    }
  }
}
