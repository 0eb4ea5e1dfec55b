package dev.roundhouse.worker.transport.tstream;

import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.platform.tstream.StreamPort;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.ssl.SslHandler;
import io.netty.util.ReferenceCountUtil;
import java.util.Set;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Stands before TLS until the first byte has come: a client that speaks plain text is told so in
 * words that it understands, instead of an alert that it does not.
 */
final class TlsGate extends ChannelInboundHandlerAdapter {
  private static final Logger log = LoggerFactory.getLogger(TlsGate.class);

  /** What every TLS client begins with: a record of its handshake. */
  private static final int HANDSHAKE_RECORD = 22;

  private final StreamServer server;
  private final StreamConnection connection;
  private boolean refused;

  TlsGate(StreamServer server, StreamConnection connection) {
    this.server = server;
    this.connection = connection;
  }

  @Override
  public void channelRead(ChannelHandlerContext context, Object message) {
    ByteBuf read = (ByteBuf) message;
    if (refused || !read.isReadable()) {
      ReferenceCountUtil.release(read);
      return;
    }
    if (read.getUnsignedByte(read.readerIndex()) == HANDSHAKE_RECORD) {
      context.fireChannelRead(read);
      context.pipeline().remove(this);
      return;
    }
    read.release();
    refused = true;
    log.debug("{} does not speak TLS", context.channel().remoteAddress());
    server.load().ended(End.PLAIN_TEXT);
    connection.onRefused();
    ServerReply reply =
        new ServerReply(
            ClientHello.VERSION,
            HelloStatus.BAD_HELLO,
            Set.of(),
            0,
            0,
            null,
            "this port takes TLS only; connect with TLS, and ALPN tstream/1 or none");
    context.pipeline().remove(SslHandler.class); // which would send its own end before ours
    StreamPort.endAfter(
        context.channel(), context.writeAndFlush(Unpooled.wrappedBuffer(reply.encoded())));
  }
}
