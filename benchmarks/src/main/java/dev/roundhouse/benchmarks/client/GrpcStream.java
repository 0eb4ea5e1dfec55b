package dev.roundhouse.benchmarks.client;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelStreamInferResponse;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;

/**
 * Requests of one ModelStreamInfer call; each run is a call of its own. Latencies are those of
 * answers in the order of the requests: exact with one outstanding, and on average.
 */
public final class GrpcStream implements ThinClient {
  private final Http2Connection connection;
  private final ByteBuffer request;

  /** What every answer begins with: its length. */
  private final byte[] prefix = new byte[Exchange.PREFIX];

  private final int answerBytes;

  private GrpcStream(Http2Connection connection, ByteBuffer request, ByteString wanted)
      throws IOException {
    this.connection = connection;
    this.request = request;
    GrpcUnary.First first = new GrpcUnary.First();
    Http2Call call = connection.stream(request);
    connection.send(call);
    connection.end(call);
    while (!first.ended()) {
      connection.turn(first);
    }
    ModelStreamInferResponse response =
        ModelStreamInferResponse.parseFrom(Exchange.unframed(first.bytes()));
    if (!response.getErrorMessage().isEmpty()) {
      throw new IOException("the server refused it: " + response.getErrorMessage());
    }
    Exchange.check(response.getInferResponse().getRawOutputContentsList(), wanted);
    answerBytes = first.bytes().size();
    first.bytes().copyTo(prefix, 0, 0, prefix.length);
  }

  /**
   * Connects and asks once.
   *
   * @param wanted the bytes of all outputs, one after the other
   */
  public static GrpcStream connect(int port, ModelInferRequest request, ByteString wanted)
      throws IOException {
    Http2Connection connection =
        new Http2Connection(port, "/inference.GRPCInferenceService/ModelStreamInfer");
    try {
      return new GrpcStream(connection, Exchange.framed(request), wanted);
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
    while (!loop.ended) {
      connection.turn(loop);
    }
    return Load.of(List.of(loop.latencies), System.nanoTime() - start);
  }

  @Override
  public void close() throws IOException {
    connection.close();
  }

  private final class Loop implements Http2Listener {
    private final Http2Call call = connection.stream(request);
    private final long endNanos;
    private final Latencies latencies = new Latencies();
    private final ArrayDeque<Long> sentNanos = new ArrayDeque<>();
    private int received; // of the answer that has begun
    private boolean ended;

    Loop(long endNanos) {
      this.endNanos = endNanos;
    }

    void send() {
      connection.send(call);
      sentNanos.add(System.nanoTime());
    }

    @Override
    public void onData(int stream, ByteBuffer part) throws IOException {
      while (part.hasRemaining()) {
        if (received < prefix.length) {
          if (part.get() != prefix[received++]) {
            throw new IOException("an answer of another size than the first; it may be an error");
          }
        } else {
          int count = Math.min(part.remaining(), answerBytes - received);
          part.position(part.position() + count);
          received += count;
        }
        if (received == answerBytes) {
          received = 0;
          onAnswer();
        }
      }
    }

    private void onAnswer() throws IOException {
      Long sent = sentNanos.poll();
      if (sent == null) {
        throw new IOException("more answers than requests");
      }
      long now = System.nanoTime();
      latencies.add(now - sent);
      if (now < endNanos) {
        send();
      } else if (sentNanos.isEmpty()) {
        connection.end(call);
      }
    }

    @Override
    public void onEnd(int stream) throws IOException {
      ended = true;
      if (!sentNanos.isEmpty()) {
        throw new IOException(
            "the server ended the stream with %d requests unanswered".formatted(sentNanos.size()));
      }
    }
  }
}
