package dev.roundhouse.client;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.retry.RetryPolicy;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceBlockingStub;
import dev.roundhouse.kserve.proto.ModelConfig;
import dev.roundhouse.kserve.proto.ModelConfigRequest;
import dev.roundhouse.kserve.proto.ModelInput;
import dev.roundhouse.kserve.proto.ModelMetadataRequest;
import dev.roundhouse.kserve.proto.ModelMetadataResponse;
import dev.roundhouse.kserve.proto.ModelMetadataResponse.TensorMetadata;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.MetadataUtils;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** Calls that carry no tensors; each blocks. */
final class ControlCalls {
  private final ClientLink link;

  ControlCalls(ClientLink link) {
    this.link = link;
  }

  /** Asks one server, retrying while it is unavailable: for calls that change nothing. */
  <T> T ask(Function<GRPCInferenceServiceBlockingStub, T> question) {
    return ask(question, allowedNanos());
  }

  private long allowedNanos() {
    Duration deadline = link.settings.deadline();
    return deadline == null ? Long.MAX_VALUE : deadline.toNanos();
  }

  private <T> T ask(Function<GRPCInferenceServiceBlockingStub, T> question, long allowedNanos) {
    RetryPolicy policy = link.settings.retry();
    long begin = System.nanoTime();
    for (int attempts = 1; ; attempts++) {
      long left = left(allowedNanos, begin);
      Target target = link.targets.pick(null);
      try {
        return question.apply(stub(target, left));
      } catch (StatusRuntimeException e) {
        double draw = ThreadLocalRandom.current().nextDouble();
        long wait = policy.waitNanos(attempts, left(allowedNanos, begin), draw);
        boolean again =
            e.getStatus().getCode() == Status.Code.UNAVAILABLE
                && !link.closed
                && wait >= 0
                && link.retries.take();
        if (!again) {
          throw failure(e);
        }
        sleep(wait);
        target.channel.resetConnectBackoff();
      }
    }
  }

  private static long left(long allowedNanos, long beginNanos) {
    return allowedNanos == Long.MAX_VALUE
        ? Long.MAX_VALUE
        : allowedNanos - (System.nanoTime() - beginNanos);
  }

  private static void sleep(long nanos) {
    try {
      TimeUnit.NANOSECONDS.sleep(nanos);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new KServeException(
          Status.Code.CANCELLED, "the thread that waited was interrupted", e, null);
    }
  }

  /** Calls every server once. */
  void tell(Duration deadline, Consumer<GRPCInferenceServiceBlockingStub> order) {
    for (Target target : link.targets.all()) {
      try {
        order.accept(stub(target, deadline.toNanos()));
      } catch (StatusRuntimeException e) {
        throw failure(e);
      }
    }
  }

  /** Whether at least one server says yes; unreachable ones do not. */
  boolean any(Function<GRPCInferenceServiceBlockingStub, Boolean> question) {
    for (Target target : link.targets.all()) {
      try {
        if (question.apply(stub(target, allowedNanos()))) {
          return true;
        }
      } catch (StatusRuntimeException e) {
        if (e.getStatus().getCode() != Status.Code.UNAVAILABLE) {
          throw failure(e);
        }
      }
    }
    return false;
  }

  /**
   * @param leftNanos {@link Long#MAX_VALUE} for no deadline
   */
  GRPCInferenceServiceBlockingStub stub(Target target, long leftNanos) {
    Metadata headers = link.headers();
    GRPCInferenceServiceBlockingStub stub =
        GRPCInferenceServiceGrpc.newBlockingStub(target.channel)
            .withInterceptors(MetadataUtils.newAttachHeadersInterceptor(headers));
    return leftNanos == Long.MAX_VALUE
        ? stub
        : stub.withDeadlineAfter(leftNanos, TimeUnit.NANOSECONDS);
  }

  static KServeException failure(StatusRuntimeException e) {
    return KServeException.of(e.getStatus().withCause(e), null);
  }

  ModelShape shape(String name, String version) {
    return shape(name, version, allowedNanos());
  }

  /**
   * @param allowedNanos for each of two questions; {@link Long#MAX_VALUE} for no deadline
   */
  ModelShape shape(String name, String version, long allowedNanos) {
    ModelMetadataResponse metadata =
        ask(
            stub ->
                stub.modelMetadata(
                    ModelMetadataRequest.newBuilder().setName(name).setVersion(version).build()),
            allowedNanos);
    ModelConfig config = config(name, version, allowedNanos);
    int[] sizes = batchSizes(config);
    boolean anywhere = sizes.length > 0;
    int maxBatch = config == null ? 0 : config.getMaxBatchSize();
    int axis = maxBatch > 0 ? 0 : -1;
    Set<String> optional =
        config == null
            ? Set.of()
            : config.getInputList().stream()
                .filter(ModelInput::getOptional)
                .map(ModelInput::getName)
                .collect(Collectors.toSet());
    return new ModelShape(
        metadata.getName(),
        List.copyOf(metadata.getVersionsList()),
        metadata.getPlatform(),
        metadata.getInputsList().stream()
            .map(each -> tensor(name, each, axis, anywhere, optional.contains(each.getName())))
            .toList(),
        metadata.getOutputsList().stream()
            .map(each -> tensor(name, each, axis, anywhere, false))
            .toList(),
        maxBatch > 0 ? maxBatch : Arrays.stream(sizes).max().orElse(0));
  }

  /** False for a model that may answer a request of a stream many times, or not at all. */
  boolean isSingleResponse(String name, String version, long allowedNanos) {
    ModelConfig config = config(name, version, allowedNanos);
    return config == null || !config.getModelTransactionPolicy().getDecoupled();
  }

  /** Null when the server has no such call. */
  private @Nullable ModelConfig config(String name, String version, long allowedNanos) {
    try {
      return ask(
              stub ->
                  stub.modelConfig(
                      ModelConfigRequest.newBuilder().setName(name).setVersion(version).build()),
              allowedNanos)
          .getConfig();
    } catch (KServeException e) {
      if (e.code() == Status.Code.UNIMPLEMENTED) {
        return null;
      }
      throw e;
    }
  }

  /** Roundhouse names them where rows are not counted along axis 0 of every tensor. */
  private static int[] batchSizes(@Nullable ModelConfig config) {
    if (config == null || !config.containsParameters("batch_sizes")) {
      return new int[0];
    }
    String sizes = config.getParametersOrThrow("batch_sizes").getStringValue();
    return Arrays.stream(sizes.split("[^0-9]+"))
        .filter(size -> !size.isEmpty())
        .mapToInt(Integer::parseInt)
        .toArray();
  }

  /**
   * @param axis that counts rows in every tensor; negative when there is none
   * @param anywhere whether rows are counted along the one axis that any extent will do for
   */
  private static TensorShape tensor(
      String model, TensorMetadata tensor, int axis, boolean anywhere, boolean optional) {
    DType dtype =
        DType.fromKserveName(tensor.getDatatype())
            .orElseThrow(
                () ->
                    new KServeException(
                        Status.Code.INTERNAL,
                        "tensor '%s' of '%s' has the datatype '%s', which is not known"
                            .formatted(tensor.getName(), model, tensor.getDatatype()),
                        null,
                        null));
    Shape shape = Shape.of(tensor.getShapeList().stream().mapToLong(dim -> dim).toArray());
    int batchAxis = shape.rank() == 0 ? -1 : anywhere && axis < 0 ? onlyAny(shape) : axis;
    return new TensorShape(tensor.getName(), dtype, shape, batchAxis, optional);
  }

  private static int onlyAny(Shape shape) {
    int found = -1;
    for (int axis = 0; axis < shape.rank(); axis++) {
      if (shape.dim(axis) == Shape.ANY) {
        if (found >= 0) {
          return -1;
        }
        found = axis;
      }
    }
    return found;
  }
}
