package dev.roundhouse.client;

import com.google.protobuf.ByteString;
import dev.roundhouse.kserve.proto.InferParameter;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceRequest;
import dev.roundhouse.kserve.proto.IsSameIPCNamespaceResponse;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferInputTensor;
import dev.roundhouse.kserve.proto.ModelInferRequest.InferRequestedOutputTensor;
import dev.roundhouse.kserve.proto.ModelInferResponse;
import dev.roundhouse.kserve.proto.ModelInferResponse.InferOutputTensor;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryRegisterResponse;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterRequest;
import dev.roundhouse.kserve.proto.SystemSharedMemoryUnregisterResponse;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/** One that shares memory, and looks closely at what it is given. */
final class SharingServer extends FakeServer {
  final AtomicInteger asked = new AtomicInteger();

  /** Keys of all objects that were ever registered, in order. */
  final List<String> keys = new CopyOnWriteArrayList<>();

  final List<String> unregistered = new CopyOnWriteArrayList<>();
  final Map<String, Path> regions = new ConcurrentHashMap<>();

  /** What it says of the client's memory; null when it does not know the question. */
  volatile @Nullable Boolean same = true;

  /** What it says to whoever registers; null when it does so. */
  volatile @Nullable Status refusal;

  /** Whether it forgets what it has registered at once. */
  volatile boolean forgetful;

  /** Bytes that an output needs beside those that its shape says. */
  volatile int growth;

  /** Whether outputs in shared memory have no entry in raw contents. */
  volatile boolean sparse;

  /** Whether it says in an answer where it has written an output. */
  volatile boolean says = true;

  SharingServer() throws IOException {}

  /** Whether it gives a reason beside a status, as Roundhouse does; else in its text only. */
  volatile boolean givesReasons;

  void lose() {
    regions.clear();
  }

  @Override
  public void isSameIPCNamespace(
      IsSameIPCNamespaceRequest request, StreamObserver<IsSameIPCNamespaceResponse> observer) {
    asked.incrementAndGet();
    Boolean told = same;
    if (told == null) {
      observer.onError(Status.UNIMPLEMENTED.asRuntimeException());
      return;
    }
    boolean seen = Files.isReadable(file(request.getName()));
    answer(observer, IsSameIPCNamespaceResponse.newBuilder().setSame(told && seen).build());
  }

  private static Path file(String key) {
    require(key.matches("/shm-[A-Za-z0-9_.]+-\\d+-[0-9a-f]{16}"), "a key, not " + key);
    return Path.of("/dev/shm", key.substring(1));
  }

  @Override
  public void systemSharedMemoryRegister(
      SystemSharedMemoryRegisterRequest request,
      StreamObserver<SystemSharedMemoryRegisterResponse> observer) {
    Status refused = refusal;
    if (refused != null) {
      observer.onError(refused.asRuntimeException());
      return;
    }
    Path file = file(request.getKey());
    try {
      require(Files.size(file) == request.getByteSize(), "all of it");
      require(
          PosixFilePermissions.toString(Files.getPosixFilePermissions(file)).equals("rw-------"),
          "an object of the client's own");
    } catch (IOException e) {
      observer.onError(Status.INTERNAL.withCause(e).asRuntimeException());
      return;
    }
    if (!forgetful && regions.putIfAbsent(request.getName(), file) != null) {
      observer.onError(Status.ALREADY_EXISTS.asRuntimeException());
      return;
    }
    keys.add(request.getKey());
    answer(observer, SystemSharedMemoryRegisterResponse.getDefaultInstance());
  }

  @Override
  public void systemSharedMemoryUnregister(
      SystemSharedMemoryUnregisterRequest request,
      StreamObserver<SystemSharedMemoryUnregisterResponse> observer) {
    regions.remove(request.getName());
    unregistered.add(request.getName());
    answer(observer, SystemSharedMemoryUnregisterResponse.getDefaultInstance());
  }

  @Override
  @Nullable ByteString shared(InferInputTensor input) {
    if (input.getParametersCount() == 0) {
      return null;
    }
    ByteBuffer bytes =
        ByteBuffer.allocate(Math.toIntExact(number(input.getParametersMap(), "byte_size")));
    try (FileChannel file = open(input.getParametersMap())) {
      file.read(bytes, number(input.getParametersMap(), "offset"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return ByteString.copyFrom(bytes.flip());
  }

  @Override
  void addOutput(
      ModelInferRequest request,
      ModelInferResponse.Builder response,
      String name,
      InferInputTensor like,
      ByteString bytes) {
    Map<String, InferParameter> place =
        request.getOutputsList().stream()
            .filter(output -> output.getName().equals(name))
            .findFirst()
            .map(InferRequestedOutputTensor::getParametersMap)
            .orElse(Map.of());
    if (place.isEmpty()) {
      super.addOutput(request, response, name, like, bytes);
      return;
    }
    if (number(place, "byte_size") < bytes.size() + growth) {
      throw Status.INTERNAL
          .withDescription("shared memory size specified for output '" + name + "' is too small")
          .asRuntimeException();
    }
    try (FileChannel file = open(place)) {
      file.write(bytes.asReadOnlyByteBuffer(), number(place, "offset"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    response.addOutputs(
        InferOutputTensor.newBuilder()
            .setName(name)
            .setDatatype(like.getDatatype())
            .addAllShape(like.getShapeList())
            .putAllParameters(says ? place : Map.of()));
    if (!sparse) {
      response.addRawOutputContents(ByteString.EMPTY);
    }
  }

  private FileChannel open(Map<String, InferParameter> place) throws IOException {
    require(place.size() == 3, "three parameters");
    String name = Objects.requireNonNull(place.get("shared_memory_region")).getStringParam();
    Path file = regions.get(name);
    if (file == null) {
      throw givesReasons
          ? Status.NOT_FOUND
              .withDescription("it is gone")
              .asRuntimeException(reason("roundhouse-about", "region"))
          : Status.NOT_FOUND
              .withDescription("Unable to find shared memory region: '" + name + "'")
              .asRuntimeException();
    }
    long offset = number(place, "offset");
    require(offset % 64 == 0, "aligned tensors");
    require(offset + number(place, "byte_size") <= Files.size(file), "tensors inside the region");
    return FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
  }

  private static long number(Map<String, InferParameter> place, String what) {
    return Objects.requireNonNull(place.get("shared_memory_" + what)).getInt64Param();
  }
}
