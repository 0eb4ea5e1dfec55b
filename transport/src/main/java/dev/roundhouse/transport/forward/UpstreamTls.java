package dev.roundhouse.transport.forward;

import dev.roundhouse.transport.http2.FrameCutter;
import dev.roundhouse.transport.io.SmallWrites;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.net.InetSocketAddress;
import javax.net.ssl.SSLException;

/**
 * TLS to servers for forwarded calls. Immutable.
 *
 * @param context of a client that offers HTTP/2 and verifies names
 * @param serverName required in their certificates; empty for each server's host
 */
public record UpstreamTls(SslContext context, String serverName) {

  /** The authority to address a server by. */
  String authority(InetSocketAddress address) {
    return (serverName.isEmpty() ? address.getHostString() : serverName) + ":" + address.getPort();
  }

  /** Adds the connection's handlers once the handshake is done; or tells it why it failed. */
  void add(
      Channel channel, InetSocketAddress address, UpstreamConnection made, long timeoutMillis) {
    String name = serverName.isEmpty() ? address.getHostString() : serverName;
    SslHandler tls = context.newHandler(channel.alloc(), name, address.getPort());
    tls.setHandshakeTimeoutMillis(timeoutMillis);
    channel.pipeline().addLast(tls, new Negotiated(made));
  }

  private static final class Negotiated extends ApplicationProtocolNegotiationHandler {
    private final UpstreamConnection made;

    Negotiated(UpstreamConnection made) {
      super(ApplicationProtocolNames.HTTP_1_1);
      this.made = made;
    }

    @Override
    protected void configurePipeline(ChannelHandlerContext ctx, String protocol) {
      if (ApplicationProtocolNames.HTTP_2.equals(protocol)) {
        ctx.pipeline().addLast(new SmallWrites(), FrameCutter.ofServer(), made);
      } else {
        handshakeFailure(ctx, new SSLException("it does not agree to HTTP/2 by ALPN"));
      }
    }

    @Override
    protected void handshakeFailure(ChannelHandlerContext ctx, Throwable cause) {
      Throwable why = cause;
      while (why.getCause() instanceof SSLException deeper) {
        why = deeper;
      }
      String text =
          why instanceof NotSslRecordException
              ? "it does not speak TLS"
              : "TLS: " + why.getMessage();
      made.notConnected(new SSLException(text, cause));
      ctx.close();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      handshakeFailure(ctx, cause);
    }
  }
}
