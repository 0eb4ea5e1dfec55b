package dev.roundhouse.transport.forward;

import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPipeline;
import io.netty.handler.ssl.ApplicationProtocolNames;
import io.netty.handler.ssl.ApplicationProtocolNegotiationHandler;
import io.netty.handler.ssl.NotSslRecordException;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslHandler;
import java.net.InetSocketAddress;
import java.nio.channels.ClosedChannelException;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;

/**
 * TLS to the servers that requests are forwarded to. Immutable.
 *
 * @param context of a client that verifies names, and for gRPC offers HTTP/2
 * @param serverName required in their certificates; empty for each server's host
 */
public record UpstreamTls(SslContext context, String serverName) {

  /** The authority to address a server by. */
  String authority(InetSocketAddress server) {
    return name(server) + ":" + server.getPort();
  }

  private String name(InetSocketAddress server) {
    return serverName.isEmpty() ? server.getHostString() : serverName;
  }

  /**
   * Adds the protocol's handlers once both sides have agreed on it.
   *
   * @param failed told why they have not; may be called twice
   */
  void add(
      Channel channel,
      InetSocketAddress server,
      String protocol,
      Consumer<ChannelPipeline> handlers,
      Consumer<Throwable> failed) {
    SslHandler tls = context.newHandler(channel.alloc(), name(server), server.getPort());
    tls.setHandshakeTimeoutMillis(ServerSockets.CONNECT_MILLIS);
    channel.pipeline().addLast(tls, new Negotiated(protocol, handlers, failed));
  }

  private static final class Negotiated extends ApplicationProtocolNegotiationHandler {
    private final String wanted;
    private final Consumer<ChannelPipeline> handlers;
    private final Consumer<Throwable> failed;

    Negotiated(String wanted, Consumer<ChannelPipeline> handlers, Consumer<Throwable> failed) {
      super(ApplicationProtocolNames.HTTP_1_1);
      this.wanted = wanted;
      this.handlers = handlers;
      this.failed = failed;
    }

    @Override
    protected void configurePipeline(ChannelHandlerContext ctx, String protocol) {
      if (wanted.equals(protocol)) {
        handlers.accept(ctx.pipeline());
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
          switch (why) {
            case NotSslRecordException plain -> "it does not speak TLS";
            case ClosedChannelException closed ->
                "it has closed the connection before both spoke TLS";
            default -> "TLS: " + why.getMessage();
          };
      failed.accept(new SSLException(text, cause));
      ctx.close();
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
      handshakeFailure(ctx, cause);
    }
  }
}
