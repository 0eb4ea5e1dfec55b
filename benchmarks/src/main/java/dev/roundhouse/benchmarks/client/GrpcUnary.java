package dev.roundhouse.benchmarks.client;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;

/** Calls of ModelInfer over one connection. */
public final class GrpcUnary implements ThinClient {
  private final Http2Connection connection;
  private final List<ByteBuffer> requests;

  /** Of the prefix and the message. */
  private final int answerBytes;

  private GrpcUnary(Http2Connection connection, List<ByteBuffer> requests, ByteString wanted)
      throws IOException {
    this.connection = connection;
    this.requests = requests;
    First first = new First();
    connection.unary(requests.getFirst());
    while (!first.ended) {
      connection.turn(first);
    }
    ModelInferResponse response = ModelInferResponse.parseFrom(Exchange.unframed(first.bytes));
    Exchange.check(response.getRawOutputContentsList(), wanted);
    answerBytes = first.bytes.size();
  }

  /**
   * Connects and asks once.
   *
   * @param wanted the bytes of all outputs, one after the other
   */
  public static GrpcUnary connect(int port, ModelInferRequest request, ByteString wanted)
      throws IOException {
    return connect(port, List.of(request), wanted);
  }

  /**
   * Connects and asks once; sends these requests in turn from then on.
   *
   * @param requests whose answers have the same outputs and are equally long
   */
  public static GrpcUnary connect(int port, List<ModelInferRequest> requests, ByteString wanted)
      throws IOException {
    Http2Connection connection =
        new Http2Connection(port, "/inference.GRPCInferenceService/ModelInfer");
    try {
      return new GrpcUnary(connection, requests.stream().map(Exchange::framed).toList(), wanted);
    } catch (IOException | RuntimeException failure) {
      connection.close();
      throw failure;
    }
  }

  @Override
  public Load run(int outstanding, Duration duration) throws IOException {
    long start = System.nanoTime();
    Loop loop = new Loop(start + duration.toNanos());
    for (int i = 0; i < outstanding; i++) {
      loop.send();
    }
    while (loop.outstanding > 0) {
      connection.turn(loop);
    }
    return Load.of(List.of(loop.latencies), System.nanoTime() - start);
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }

  /** The one answer that is looked at. */
  static final class First implements Http2Listener {
    private ByteString bytes = ByteString.EMPTY;
    private boolean ended;

    @Override
    public void onData(int stream, ByteBuffer part) {
      bytes = bytes.concat(ByteString.copyFrom(part));
    }

    @Override
    public void onEnd(int stream) {
      ended = true;
    }

    ByteString bytes() {
      return bytes;
    }

    boolean ended() {
      return ended;
    }
  }

  private final class Loop implements Http2Listener {
    private final long endNanos;
    private final Latencies latencies = new Latencies();
    private int outstanding;
    private int next;

    Loop(long endNanos) {
      this.endNanos = endNanos;
    }

    void send() {
      connection.unary(requests.get(next)).sentNanos = System.nanoTime();
      next = next + 1 == requests.size() ? 0 : next + 1;
      outstanding++;
    }

    @Override
    public void onData(int stream, ByteBuffer part) throws IOException {
      connection.call(stream).received += part.remaining();
    }

    @Override
    public void onEnd(int stream) throws IOException {
      Http2Call call = connection.call(stream);
      if (call.received != answerBytes) {
        throw new IOException(
            "an answer of %d bytes where the first had %d; the server's log may say why"
                .formatted(call.received, answerBytes));
      }
      long now = System.nanoTime();
      latencies.add(now - call.sentNanos);
      outstanding--;
      if (now < endNanos) {
        send();
      }
    }
  }
}
