package dev.roundhouse.benchmarks.wire;

import com.google.protobuf.ByteString;
import dev.roundhouse.benchmarks.client.GrpcUnary;
import dev.roundhouse.benchmarks.client.Load;
import dev.roundhouse.benchmarks.client.ThinClient;
import dev.roundhouse.benchmarks.serving.RowModel;
import dev.roundhouse.benchmarks.serving.SharedRegion;
import dev.roundhouse.benchmarks.serving.StockCall;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.Map;

/**
 * Calls of ModelInfer whose input and output lie in a region of system shared memory, registered
 * with the server: the input first, the output after it. All calls use the same bytes.
 */
final class SharedMemoryClient implements ThinClient {
  private final SharedRegion region;
  private final GrpcUnary calls;

  private SharedMemoryClient(SharedRegion region, GrpcUnary calls) {
    this.region = region;
    this.calls = calls;
  }

  /**
   * Registers a region, connects and asks once.
   *
   * @param wanted the output's bytes
   */
  static SharedMemoryClient connect(int port, RowModel model, String name, ByteString wanted)
      throws IOException {
    int bytes = model.rowBytes();
    SharedRegion region = SharedRegion.create(2 * bytes);
    try {
      region.bytes().put(0, model.row().toByteArray());
      register(port, region);
      GrpcUnary calls = GrpcUnary.connect(port, request(model, name, region), ByteString.EMPTY);
      SharedMemoryClient client = new SharedMemoryClient(region, calls);
      ByteString seen = ByteString.copyFrom(region.bytes().slice(bytes, bytes));
      if (!seen.equals(wanted)) {
        client.close();
        throw new IOException("%s answered other bytes into shared memory".formatted(name));
      }
      return client;
    } catch (IOException | RuntimeException failure) {
      region.close();
      throw failure;
    }
  }

  private static void register(int port, SharedRegion region) {
    SystemSharedMemoryRegisterRequest request =
        SystemSharedMemoryRegisterRequest.newBuilder()
            .setName(region.name())
            .setKey("/" + region.name())
            .setByteSize(region.bytes().capacity())
            .build();
    var unused = StockCall.to(port, stub -> stub.systemSharedMemoryRegister(request));
  }

  private static ModelInferRequest request(RowModel model, String name, SharedRegion region) {
    ModelInferRequest.Builder request = model.withoutData(1).setModelName(name);
    request.getInputsBuilder(0).putAllParameters(place(region, 0, model.rowBytes()));
    return request
        .addOutputs(
            InferRequestedOutputTensor.newBuilder()
                .setName("y")
                .putAllParameters(place(region, model.rowBytes(), model.rowBytes())))
        .build();
  }

  private static Map<String, InferParameter> place(SharedRegion region, int offset, int bytes) {
    return Map.of(
        "shared_memory_region",
        InferParameter.newBuilder().setStringParam(region.name()).build(),
        "shared_memory_offset",
        InferParameter.newBuilder().setInt64Param(offset).build(),
        "shared_memory_byte_size",
        InferParameter.newBuilder().setInt64Param(bytes).build());
  }

  @Override
  public Load run(int outstanding, Duration duration) throws IOException {
    return calls.run(outstanding, duration);
  }

  @Override
  public void close() throws IOException {
    try (region) {
      calls.close();
    }
  }
}
