package dev.roundhouse.transport.http2;

import static io.netty.handler.codec.http.HttpHeaderNames.CONTENT_TYPE;

import io.grpc.Codec;
import io.grpc.Compressor;
import io.grpc.CompressorRegistry;
import io.grpc.Decompressor;
import io.grpc.DecompressorRegistry;
import io.grpc.InternalMetadata;
import io.grpc.InternalStatus;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.internal.GrpcUtil;
import io.grpc.internal.TransportFrameUtil;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http2.DefaultHttp2Headers;
import io.netty.handler.codec.http2.Http2Headers;
import io.netty.handler.codec.http2.ReadOnlyHttp2Headers;
import io.netty.util.AsciiString;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** Converts between gRPC metadata and HTTP/2 header fields. Immutable. */
public final class HeaderCodec {
  private static final AsciiString GRPC = AsciiString.cached("application/grpc");
  private static final AsciiString OK = HttpResponseStatus.OK.codeAsText();
  private static final AsciiString GRPC_STATUS = AsciiString.cached("grpc-status");
  private static final AsciiString GRPC_ENCODING = AsciiString.cached("grpc-encoding");
  private static final AsciiString GRPC_ACCEPT = AsciiString.cached("grpc-accept-encoding");
  private static final char PSEUDO_HEADER = ':';

  /** Fields that have one of a few values. */
  private static final Set<CharSequence> OF_EVERY_CALL =
      Set.of(
          Http2Headers.PseudoHeaderName.STATUS.value(),
          CONTENT_TYPE,
          GRPC_STATUS,
          GRPC_ENCODING,
          GRPC_ACCEPT);

  /** A header field besides its texts: two strings and their arrays, an entry, its slot. */
  private static final int FIELD_BYTES = 128;

  private static final Http2Headers END_OK =
      ReadOnlyHttp2Headers.trailers(false, GRPC_STATUS, AsciiString.cached("0"));

  private final DecompressorRegistry decompressors;
  private final CompressorRegistry compressors;
  private final Http2Headers plain;

  HeaderCodec(DecompressorRegistry decompressors, CompressorRegistry compressors) {
    this.decompressors = decompressors;
    this.compressors = compressors;
    String accepted =
        String.join(",", new TreeSet<>(decompressors.getAdvertisedMessageEncodings()));
    plain =
        ReadOnlyHttp2Headers.serverHeaders(
            false, OK, CONTENT_TYPE, GRPC, GRPC_ACCEPT, AsciiString.of(accepted));
  }

  /**
   * Whether a connection may remember an answer's field, so that it is sent as a number the next
   * time. A client says how much is to be remembered, up to 4 GiB: so nothing is whose values it
   * could have the server make up.
   *
   * @param name as an {@link AsciiString}; other texts are not known
   */
  static boolean isOfEveryCall(CharSequence name) {
    return OF_EVERY_CALL.contains(name);
  }

  /** The client's metadata, without HTTP's own fields. */
  static Metadata metadata(Http2Headers headers) {
    byte[][] fields = new byte[2 * headers.size()][];
    int count = 0;
    for (Map.Entry<CharSequence, CharSequence> field : headers) {
      AsciiString name = AsciiString.of(field.getKey());
      if (!name.isEmpty() && name.charAt(0) != PSEUDO_HEADER) {
        fields[count++] = bytes(name);
        fields[count++] = bytes(AsciiString.of(field.getValue()));
      }
    }
    byte[][] used = count == fields.length ? fields : Arrays.copyOf(fields, count);
    return InternalMetadata.newMetadata(TransportFrameUtil.toRawSerializedHeaders(used));
  }

  /** Like {@link #metadata}, for one field only. */
  public static Metadata only(String name, Http2Headers headers) {
    Metadata metadata = new Metadata();
    CharSequence value = headers.get(name);
    if (value != null) {
      metadata.put(Metadata.Key.of(name, Metadata.ASCII_STRING_MARSHALLER), value.toString());
    }
    return metadata;
  }

  private static byte[] bytes(AsciiString text) {
    return text.isEntireArrayUsed() ? text.array() : text.toByteArray();
  }

  /** The initial headers of an answer. */
  Http2Headers begin(Metadata metadata, @Nullable Compressor compressor) {
    if (compressor == null && InternalMetadata.headerCount(metadata) == 0) {
      return plain;
    }
    Http2Headers headers = new DefaultHttp2Headers(false).setAll(plain);
    if (compressor != null) {
      headers.set(GRPC_ENCODING, compressor.getMessageEncoding());
    }
    add(metadata, headers);
    return headers;
  }

  /**
   * The trailers of an answer.
   *
   * @param first true when nothing was sent before
   */
  public Http2Headers end(Status status, Metadata metadata, boolean first) {
    boolean bare = status.getDescription() == null && InternalMetadata.headerCount(metadata) == 0;
    if (status.isOk() && bare && !first) {
      return END_OK;
    }
    Http2Headers headers = new DefaultHttp2Headers(false);
    if (first) {
      headers.setAll(plain);
    }
    metadata.discardAll(InternalStatus.CODE_KEY);
    metadata.discardAll(InternalStatus.MESSAGE_KEY);
    metadata.put(InternalStatus.CODE_KEY, status);
    String description = status.getDescription();
    if (description != null) {
      metadata.put(InternalStatus.MESSAGE_KEY, description);
    }
    add(metadata, headers);
    return headers;
  }

  /** What header fields take in memory; 0 for those shared by all calls. */
  static long bytes(Http2Headers headers) {
    if (headers == END_OK) {
      return 0;
    }
    long bytes = 0;
    for (Map.Entry<CharSequence, CharSequence> field : headers) {
      bytes += FIELD_BYTES + 2L * (field.getKey().length() + field.getValue().length());
    }
    return bytes;
  }

  private static void add(Metadata metadata, Http2Headers headers) {
    byte[][] fields = TransportFrameUtil.toHttp2Headers(metadata);
    for (int i = 0; i < fields.length; i += 2) {
      AsciiString name = new AsciiString(fields[i], false);
      if (!CONTENT_TYPE.contentEquals(name)) {
        headers.add(name, new AsciiString(fields[i + 1], false));
      }
    }
  }

  /** The answer to a request that is not gRPC: an HTTP status and a text. */
  static Http2Headers refusal(HttpResponseStatus status) {
    return new DefaultHttp2Headers(false)
        .status(status.codeAsText())
        .set(CONTENT_TYPE, "text/plain; charset=utf-8");
  }

  /** True for {@code application/grpc} alone, or with a format, or with parameters. */
  static boolean isGrpc(@Nullable CharSequence contentType) {
    return contentType != null && GrpcUtil.isGrpcContentType(contentType.toString());
  }

  /**
   * The decompressor for the client's encoding.
   *
   * @return null when it has none
   * @throws io.grpc.StatusRuntimeException UNIMPLEMENTED when the encoding is unknown
   */
  public @Nullable Decompressor decompressor(Metadata metadata) {
    String name = metadata.get(GrpcUtil.MESSAGE_ENCODING_KEY);
    if (name == null || name.equals(Codec.Identity.NONE.getMessageEncoding())) {
      return null;
    }
    Decompressor found = decompressors.lookupDecompressor(name);
    if (found == null) {
      throw Status.UNIMPLEMENTED
          .withDescription("Can't find decompressor for " + ShortText.of(name))
          .asRuntimeException();
    }
    return found;
  }

  @Nullable Compressor compressor(String name) {
    return compressors.lookupCompressor(name);
  }

  /** True when the client accepts this encoding. */
  static boolean accepts(Metadata metadata, Compressor compressor) {
    byte[] accepted = metadata.get(GrpcUtil.MESSAGE_ACCEPT_ENCODING_KEY);
    if (accepted == null) {
      return false;
    }
    for (String name : new String(accepted, StandardCharsets.US_ASCII).split(",")) {
      if (name.strip().equals(compressor.getMessageEncoding())) {
        return true;
      }
    }
    return false;
  }
}
