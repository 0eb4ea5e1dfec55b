package dev.roundhouse.platform.telemetry;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.grpc.MethodDescriptor;
import io.grpc.Server;
import io.grpc.ServerServiceDefinition;
import io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.ServerCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;

/** A collector that keeps what it is sent, over gRPC and over HTTP, each at a port of its own. */
public final class OtlpReceiver implements AutoCloseable {
  private static final long MOST_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final List<Received> spans = new CopyOnWriteArrayList<>();
  private final Server grpc;
  private final HttpServer http;

  public OtlpReceiver() throws IOException {
    InetSocketAddress any = new InetSocketAddress(InetAddress.getLoopbackAddress(), 0);
    grpc = NettyServerBuilder.forAddress(any).addService(service()).build().start();
    http = HttpServer.create(any, 0);
    http.createContext("/v1/traces", this::post);
    http.start();
  }

  /**
   * A span as it was sent.
   *
   * @param parentId empty for none
   * @param kind 1 internal, 2 server, 3 client
   * @param attributes texts, whole numbers and flags (1 for true)
   * @param links span ids
   * @param isError whether its status says so
   */
  public record Received(
      String service,
      String name,
      String traceId,
      String spanId,
      String parentId,
      int kind,
      long startNanos,
      long endNanos,
      Map<String, Object> attributes,
      List<String> links,
      boolean isError) {}

  public String grpcEndpoint() {
    return "http://127.0.0.1:" + grpc.getPort();
  }

  public String httpEndpoint() {
    return "http://127.0.0.1:" + http.getAddress().getPort();
  }

  /** All spans so far, in the order in which they came. */
  public List<Received> spans() {
    return List.copyOf(spans);
  }

  /** Waits for so many spans that match, and returns them. */
  public List<Received> await(int count, Predicate<Received> matching) throws InterruptedException {
    long end = System.nanoTime() + MOST_NANOS;
    while (true) {
      List<Received> found = spans.stream().filter(matching).toList();
      if (found.size() >= count) {
        return found;
      }
      if (System.nanoTime() > end) {
        throw new AssertionError(
            "%d of %d spans came; all there are: %s".formatted(found.size(), count, spans));
      }
      Thread.sleep(5);
    }
  }

  @Override
  public void close() {
    grpc.shutdownNow();
    http.stop(0);
  }

  private ServerServiceDefinition service() {
    MethodDescriptor<byte[], byte[]> export =
        MethodDescriptor.<byte[], byte[]>newBuilder(new Raw(), new Raw())
            .setType(MethodDescriptor.MethodType.UNARY)
            .setFullMethodName("opentelemetry.proto.collector.trace.v1.TraceService/Export")
            .build();
    return ServerServiceDefinition.builder("opentelemetry.proto.collector.trace.v1.TraceService")
        .addMethod(
            export,
            ServerCalls.asyncUnaryCall(
                (message, call) -> {
                  keep(message);
                  call.onNext(new byte[0]);
                  call.onCompleted();
                }))
        .build();
  }

  private void post(HttpExchange exchange) throws IOException {
    try (exchange) {
      keep(exchange.getRequestBody().readAllBytes());
      exchange.getResponseHeaders().set("Content-Type", "application/x-protobuf");
      exchange.sendResponseHeaders(200, -1);
    }
  }

  /** By the field numbers of {@code opentelemetry/proto/trace/v1/trace.proto}. */
  private void keep(byte[] message) {
    List<Received> all = new ArrayList<>();
    for (UnknownFieldSet ofResource : messages(parsed(ByteString.copyFrom(message)), 1)) {
      Map<String, Object> resource = attributes(messages(ofResource, 1).getFirst(), 1);
      String service = String.valueOf(resource.get("service.name"));
      for (UnknownFieldSet ofScope : messages(ofResource, 2)) {
        for (UnknownFieldSet span : messages(ofScope, 2)) {
          all.add(received(service, span));
        }
      }
    }
    spans.addAll(all); // at once: nobody sees half a request
  }

  private static Received received(String service, UnknownFieldSet span) {
    List<UnknownFieldSet> status = messages(span, 15);
    return new Received(
        service,
        bytes(span, 5).toStringUtf8(),
        hex(bytes(span, 1)),
        hex(bytes(span, 2)),
        hex(bytes(span, 4)),
        (int) number(span, 6),
        span.getField(7).getFixed64List().getFirst(),
        span.getField(8).getFixed64List().getFirst(),
        attributes(span, 9),
        messages(span, 13).stream().map(link -> hex(bytes(link, 2))).toList(),
        !status.isEmpty() && number(status.getFirst(), 3) == 2);
  }

  private static Map<String, Object> attributes(UnknownFieldSet of, int field) {
    Map<String, Object> all = new HashMap<>();
    for (UnknownFieldSet each : messages(of, field)) {
      UnknownFieldSet value = messages(each, 2).getFirst();
      all.put(
          bytes(each, 1).toStringUtf8(),
          value.hasField(1)
              ? bytes(value, 1).toStringUtf8()
              : (Object) (value.hasField(2) ? number(value, 2) : number(value, 3)));
    }
    return all;
  }

  private static List<UnknownFieldSet> messages(UnknownFieldSet of, int field) {
    return of.getField(field).getLengthDelimitedList().stream().map(OtlpReceiver::parsed).toList();
  }

  private static ByteString bytes(UnknownFieldSet of, int field) {
    List<ByteString> all = of.getField(field).getLengthDelimitedList();
    return all.isEmpty() ? ByteString.EMPTY : all.getFirst();
  }

  private static long number(UnknownFieldSet of, int field) {
    List<Long> all = of.getField(field).getVarintList();
    return all.isEmpty() ? 0 : all.getFirst();
  }

  private static String hex(ByteString bytes) {
    return HexFormat.of().formatHex(bytes.toByteArray());
  }

  private static UnknownFieldSet parsed(ByteString message) {
    try {
      return UnknownFieldSet.parseFrom(message);
    } catch (InvalidProtocolBufferException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static final class Raw implements MethodDescriptor.Marshaller<byte[]> {
    @Override
    public InputStream stream(byte[] message) {
      return new ByteArrayInputStream(message);
    }

    @Override
    public byte[] parse(InputStream stream) {
      try {
        return stream.readAllBytes();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }
}
