package dev.roundhouse.transport.http1;

import dev.roundhouse.transport.memory.ConnectionMemory;
import dev.roundhouse.transport.memory.Kept;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelHandlerContext;
import io.netty.handler.codec.DateFormatter;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderValues;
import io.netty.handler.codec.http.HttpHeaders;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpVersion;
import java.util.Date;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Common to all replies. */
final class Replies {
  // Spelled as other servers do, for clients that expect one spelling.
  static final String CONTENT_LENGTH = "Content-Length";
  static final String TRANSFER_ENCODING = "Transfer-Encoding";
  private static final String CONTENT_TYPE = "Content-Type";
  private static final String CONNECTION = "Connection";
  private static final String DATE = "Date";

  /** Size of one of our heads with its fields. */
  static final int HEAD_BYTES = 1 << 10;

  private static volatile Stamp stamp = new Stamp(0, "");

  private Replies() {}

  /** A whole reply with the reason why there is no other. */
  private static FullHttpResponse error(
      Http1Settings settings, int code, String text, boolean keepAlive) {
    byte[] body = settings.error().apply(text);
    FullHttpResponse reply =
        new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, HttpResponseStatus.valueOf(code), Unpooled.wrappedBuffer(body));
    reply
        .headers()
        .set(CONTENT_TYPE, HttpHeaderValues.APPLICATION_JSON)
        .setInt(CONTENT_LENGTH, body.length);
    if (code == HttpResponseStatus.UNAUTHORIZED.code()) {
      reply.headers().set("WWW-Authenticate", "Bearer");
    }
    common(reply.headers(), HttpVersion.HTTP_1_1, keepAlive);
    return reply;
  }

  /** Sends it, counted until the client has read it. */
  static ChannelFuture refuse(
      ChannelHandlerContext to,
      Http1Settings settings,
      ConnectionMemory memory,
      int code,
      String text,
      Map<String, String> headers,
      boolean keepAlive) {
    FullHttpResponse reply = error(settings, code, text, keepAlive);
    long bytes = HEAD_BYTES + (long) reply.content().capacity();
    for (Map.Entry<String, String> each : headers.entrySet()) {
      reply.headers().set(each.getKey(), each.getValue());
      bytes += each.getValue().length();
    }
    long counted = bytes;
    ChannelFuture told = to.writeAndFlush(reply);
    if (!told.isDone()) {
      memory.add(Kept.REFUSAL, counted);
      told.addListener(left -> memory.giveBack(Kept.REFUSAL, counted));
    }
    return told;
  }

  /**
   * @param version of the request
   */
  static void common(HttpHeaders headers, HttpVersion version, boolean keepAlive) {
    headers.set(DATE, date());
    connection(headers, version, keepAlive);
  }

  /**
   * @param version of the request
   */
  static void connection(HttpHeaders headers, HttpVersion version, boolean keepAlive) {
    if (!keepAlive) {
      headers.set(CONNECTION, HttpHeaderValues.CLOSE);
    } else if (!version.isKeepAliveDefault()) {
      headers.set(CONNECTION, HttpHeaderValues.KEEP_ALIVE);
    }
  }

  private static String date() {
    long now = System.currentTimeMillis();
    long second = TimeUnit.MILLISECONDS.toSeconds(now);
    Stamp last = stamp;
    if (last.second != second) {
      last = new Stamp(second, DateFormatter.format(new Date(now)));
      stamp = last;
    }
    return last.text;
  }

  private record Stamp(long second, String text) {}
}
