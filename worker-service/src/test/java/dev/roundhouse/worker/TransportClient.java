package dev.roundhouse.worker;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceFutureStub;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;

/** A client of one transport, for one request at a time: input x, output y, both of floats. */
interface TransportClient extends AutoCloseable {

  /**
   * What came back.
   *
   * @param status gRPC's name of it
   */
  record Reply(String status, float... values) {}

  /**
   * Sends a row, and does not wait. An answer comes to the future; so does it when there is none,
   * with whatever the transport says then.
   *
   * @param millis until the deadline; 0 for none
   */
  CompletableFuture<Reply> infer(String model, long millis, float... row);

  /** Takes back what is under way, or goes away. */
  void abandon() throws Exception;

  @Override
  void close() throws IOException;

  /** The transports, by the names of their ports. */
  enum Way {
    GRPC,
    HTTP,
    STREAM,
    LINE;

    /** A future's work, which waits. */
    private static void onThread(Runnable work) {
      Thread.ofVirtual().start(work);
    }

    String port() {
      return name().toLowerCase(java.util.Locale.ROOT);
    }

    TransportClient connect(RunningWorker worker) throws IOException {
      return switch (this) {
        case GRPC -> new OverGrpc(worker.port(port()));
        case HTTP -> new OverHttp(worker.port(port()));
        case STREAM -> new OverStream(worker.port(port()));
        case LINE -> new OverLines(worker.port(port()));
      };
    }
  }

  /** KServe over gRPC. */
  final class OverGrpc implements TransportClient {
    private final ManagedChannel channel;
    private final GRPCInferenceServiceFutureStub stub;
    private java.util.concurrent.Future<?> last = CompletableFuture.completedFuture(null);

    OverGrpc(int port) {
      channel =
          Grpc.newChannelBuilder("127.0.0.1:" + port, InsecureChannelCredentials.create()).build();
      stub = GRPCInferenceServiceGrpc.newFutureStub(channel);
    }

    @Override
    public CompletableFuture<Reply> infer(String model, long millis, float... row) {
      var request = WorkerTest.request(model, 1, row).toBuilder();
      if (millis > 0) {
        request.putParameters(
            "reactant_timeout_ns",
            InferParameter.newBuilder()
                .setInt64Param(TimeUnit.MILLISECONDS.toNanos(millis))
                .build());
      }
      var call = stub.modelInfer(request.build());
      last = call;
      CompletableFuture<Reply> reply = new CompletableFuture<>();
      call.addListener(() -> reply.complete(reply(call)), Runnable::run);
      return reply;
    }

    private static Reply reply(java.util.concurrent.Future<ModelInferResponse> call) {
      try {
        return new Reply("OK", floats(call.get().getRawOutputContents(0).asReadOnlyByteBuffer()));
      } catch (ExecutionException e) {
        Status status =
            e.getCause() instanceof StatusRuntimeException known
                ? known.getStatus()
                : Status.UNKNOWN;
        return new Reply(status.getCode().name());
      } catch (InterruptedException | java.util.concurrent.CancellationException e) {
        return new Reply("CANCELLED");
      }
    }

    @Override
    public void abandon() {
      last.cancel(true);
    }

    @Override
    public void close() {
      channel.shutdownNow();
    }
  }

  /** KServe over HTTP, with the tensor as bytes behind the document. */
  final class OverHttp implements TransportClient {
    private final Socket socket;

    OverHttp(int port) throws IOException {
      socket = new Socket("127.0.0.1", port);
    }

    @Override
    public CompletableFuture<Reply> infer(String model, long millis, float... row) {
      String timeout = millis == 0 ? "" : "\"reactant_timeout_ns\":" + millis * 1_000_000 + ",";
      String json =
          "{\"parameters\":{%s\"binary_data_output\":true},\"inputs\":[{\"name\":\"x\",\"shape\":[1,%d],\"datatype\":\"FP32\",\"parameters\":{\"binary_data_size\":%d}}]}"
              .formatted(timeout, row.length, row.length * 4);
      byte[] tensor = StreamPeer.floats(row);
      String head =
          "POST /v2/models/%s/infer HTTP/1.1\r\nHost: 127.0.0.1\r\nInference-Header-Content-Length: %d\r\nContent-Length: %d\r\n\r\n%s"
              .formatted(model, json.length(), json.length() + tensor.length, json);
      try {
        socket.getOutputStream().write(head.getBytes(StandardCharsets.ISO_8859_1));
        socket.getOutputStream().write(tensor);
      } catch (IOException e) {
        return CompletableFuture.completedFuture(new Reply("UNAVAILABLE"));
      }
      return CompletableFuture.supplyAsync(this::reply, Way::onThread);
    }

    private Reply reply() {
      try {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
          int next = socket.getInputStream().read();
          if (next < 0) {
            return new Reply("UNAVAILABLE");
          }
          head.append((char) next);
        }
        String text = head.toString().toLowerCase(java.util.Locale.ROOT);
        byte[] body =
            socket
                .getInputStream()
                .readNBytes(
                    Integer.parseInt(text.replaceAll("(?s).*\r\ncontent-length: (\\d+).*", "$1")));
        int code = Integer.parseInt(text.substring(9, 12));
        if (code != 200) {
          return new Reply(
              switch (code) {
                case 400 -> "INVALID_ARGUMENT";
                case 404 -> "NOT_FOUND";
                case 429 -> "RESOURCE_EXHAUSTED";
                case 504 -> "DEADLINE_EXCEEDED";
                case 503 -> "UNAVAILABLE";
                default -> "HTTP " + code + new String(body, StandardCharsets.UTF_8);
              });
        }
        int json =
            Integer.parseInt(
                text.replaceAll("(?s).*inference-header-content-length: (\\d+).*", "$1"));
        return new Reply("OK", floats(ByteBuffer.wrap(body, json, body.length - json).slice()));
      } catch (IOException e) {
        return new Reply("UNAVAILABLE");
      }
    }

    @Override
    public void abandon() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  /** A tensor stream for each request. */
  final class OverStream implements TransportClient {
    private final int port;
    private StreamPeer peer;

    OverStream(int port) throws IOException {
      this.port = port;
      peer = new StreamPeer(port);
    }

    @Override
    public CompletableFuture<Reply> infer(String model, long millis, float... row) {
      try {
        StreamSpec spec =
            new StreamSpec(List.of(tensor("x", row.length)), List.of(tensor("y", row.length)));
        ServerReply said =
            peer.greet(
                new ClientHello(
                    1, 1, Set.of(StreamOption.DEADLINE), 4, 1, 0, model, "", "", "", "", "", spec));
        if (said.status() != HelloStatus.OK) {
          peer.close();
          peer = new StreamPeer(port);
          return CompletableFuture.completedFuture(
              new Reply(
                  switch (said.status()) {
                    case NO_SUCH_MODEL -> "NOT_FOUND";
                    case OTHER_SPEC -> "INVALID_ARGUMENT";
                    case NOT_READY -> "UNAVAILABLE";
                    default -> said.status().name();
                  }));
        }
        int micros = millis == 0 ? -1 : (int) TimeUnit.MILLISECONDS.toMicros(millis);
        peer.send(
            ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(micros).array(),
            StreamPeer.floats(row));
      } catch (IOException e) {
        return CompletableFuture.completedFuture(new Reply("UNAVAILABLE"));
      }
      return CompletableFuture.supplyAsync(this::reply, Way::onThread);
    }

    private Reply reply() {
      try (StreamPeer asked = peer) {
        StreamPeer.Said said = asked.next();
        while (said.kind() != dev.roundhouse.kserve.tstream.RecordKind.RESULT) {
          said = asked.next();
        }
        peer = new StreamPeer(port);
        return said.status() == 0
            ? new Reply("OK", said.floats())
            : new Reply(Status.fromCodeValue(said.status()).getCode().name());
      } catch (IOException e) {
        return new Reply("UNAVAILABLE");
      }
    }

    private static StreamTensor tensor(String name, int width) {
      return new StreamTensor(name, DType.F32, Shape.of(1, width));
    }

    @Override
    public void abandon() throws IOException {
      peer.abort();
    }

    @Override
    public void close() throws IOException {
      peer.close();
    }
  }

  /** The example of docs/transports.md. */
  final class OverLines implements TransportClient {
    private final Socket socket;
    private final BufferedReader lines;

    OverLines(int port) throws IOException {
      socket = new Socket("127.0.0.1", port);
      lines =
          new BufferedReader(
              new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
    }

    /** Sends a line. */
    void say(String line) throws IOException {
      socket.getOutputStream().write((line + "\n").getBytes(StandardCharsets.UTF_8));
    }

    /** Sends part of a line. */
    void begin(String part) throws IOException {
      socket.getOutputStream().write(part.getBytes(StandardCharsets.UTF_8));
    }

    /** The next line of the server; null at its end. */
    String hear() throws IOException {
      return lines.readLine();
    }

    @Override
    public CompletableFuture<Reply> infer(String model, long millis, float... row) {
      try {
        say(
            "7 infer %s %sx=%s"
                .formatted(
                    model,
                    millis == 0 ? "" : "timeout=" + millis + " ",
                    Base64.getEncoder().encodeToString(StreamPeer.floats(row))));
      } catch (IOException e) {
        return CompletableFuture.completedFuture(new Reply("UNAVAILABLE"));
      }
      return CompletableFuture.supplyAsync(this::reply, Way::onThread);
    }

    private Reply reply() {
      try {
        String line = hear();
        if (line == null) {
          return new Reply("UNAVAILABLE");
        }
        String[] words = line.split(" ");
        return words[1].equals("ok")
            ? new Reply(
                "OK", floats(ByteBuffer.wrap(Base64.getDecoder().decode(words[2].substring(2)))))
            : new Reply(words[2]);
      } catch (IOException e) {
        return new Reply("UNAVAILABLE");
      }
    }

    @Override
    public void abandon() throws IOException {
      socket.setSoLinger(true, 0);
      socket.close();
    }

    @Override
    public void close() throws IOException {
      socket.close();
    }
  }

  private static float[] floats(ByteBuffer bytes) {
    float[] floats = new float[bytes.remaining() / Float.BYTES];
    bytes.order(ByteOrder.LITTLE_ENDIAN).asFloatBuffer().get(floats);
    return floats;
  }
}
