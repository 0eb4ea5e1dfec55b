package dev.roundhouse.platform.v1;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.kserve.proto.RepositoryIndexResponse;
import dev.roundhouse.kserve.proto.RepositoryIndexResponse.ModelIndex;
import dev.roundhouse.kserve.status.WireException;
import dev.roundhouse.kserve.v1.proto.HealthRequest;
import dev.roundhouse.kserve.v1.proto.HealthResponse;
import dev.roundhouse.kserve.v1.proto.ModelControlRequest;
import dev.roundhouse.kserve.v1.proto.ModelControlResponse;
import dev.roundhouse.kserve.v1.proto.ModelRepositoryIndex.ModelEntry;
import dev.roundhouse.kserve.v1.proto.RepositoryRequest;
import dev.roundhouse.kserve.v1.proto.RepositoryResponse;
import dev.roundhouse.kserve.v1.proto.RequestStatus;
import dev.roundhouse.kserve.v1.proto.RequestStatusCode;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.CUDASharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Register.SystemSharedMemoryIdentifier;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.Unregister;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlRequest.UnregisterAll;
import dev.roundhouse.kserve.v1.proto.SharedMemoryControlResponse;
import dev.roundhouse.kserve.v1.proto.SharedMemoryRegion;
import dev.roundhouse.kserve.v1.proto.StatusRequest;
import dev.roundhouse.kserve.v1.proto.StatusResponse;
import dev.roundhouse.platform.text.ClientText;
import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What clients of v1 are told, by worker and gateway alike. */
class V1ServiceTest {
  private final Fake answers = new Fake();
  private final V1Service service = new V1Service(answers);

  /** Notes what it is asked, and fails where it is told to. */
  private static final class Fake implements V1Answers, V1Regions {
    final CallStatuses statuses = new CallStatuses("here", new ClientText(List.of()));
    final List<String> asked = new ArrayList<>();
    CompletableFuture<Void> done = CompletableFuture.completedFuture(null);
    boolean isReady;
    boolean cannotTell;

    private <T> CompletableFuture<T> noted(String what, T answer) {
      asked.add(what);
      return done.thenApply(nothing -> answer);
    }

    @Override
    public boolean isAlive() {
      return true;
    }

    @Override
    public boolean isReady() {
      return isReady;
    }

    @Override
    public RequestStatus success() {
      return statuses.success();
    }

    @Override
    public RequestStatus failure(Throwable cause) {
      if (cannotTell) {
        throw new IllegalStateException("as asked");
      }
      return statuses.failure(RequestStatusCode.INVALID_ARG, String.valueOf(cause.getMessage()));
    }

    @Override
    public CompletableFuture<StatusResponse> status(String model) {
      return noted(
          "status " + model, StatusResponse.newBuilder().setRequestStatus(success()).build());
    }

    @Override
    public CompletableFuture<?> load(String model) {
      return noted("load " + model, model);
    }

    @Override
    public CompletableFuture<?> unload(String model) {
      return noted("unload " + model, model);
    }

    @Override
    public CompletableFuture<RepositoryIndexResponse> index() {
      return noted(
          "index",
          RepositoryIndexResponse.newBuilder()
              .addModels(ModelIndex.newBuilder().setName("b").setVersion("1"))
              .addModels(ModelIndex.newBuilder().setName("b").setVersion("2"))
              .addModels(ModelIndex.newBuilder().setName("a").setVersion("1"))
              .build());
    }

    @Override
    public V1Regions regions() {
      return this;
    }

    @Override
    public CompletableFuture<?> register(
        String name, SystemSharedMemoryIdentifier object, long bytes) {
      return noted("register " + name + " " + object.getSharedMemoryKey() + " " + bytes, name);
    }

    @Override
    public CompletableFuture<?> register(
        String name, CUDASharedMemoryIdentifier memory, long bytes) {
      return noted("register " + name + " of device " + memory.getDeviceId() + " " + bytes, name);
    }

    @Override
    public CompletableFuture<?> unregister(String name) {
      return noted("unregister '" + name + "'", name);
    }

    @Override
    public CompletableFuture<SharedMemoryControlResponse.Status> status() {
      return noted(
          "regions",
          SharedMemoryControlResponse.Status.newBuilder()
              .addSharedMemoryRegion(SharedMemoryRegion.newBuilder().setName("r"))
              .build());
    }
  }

  /** The one answer of a call, or why it has none. */
  private static final class Call<R> implements StreamObserver<R> {
    final List<R> answers = new ArrayList<>();
    final List<String> ends = new ArrayList<>();

    @Override
    public void onNext(R answer) {
      answers.add(answer);
    }

    @Override
    public void onError(Throwable failure) {
      ends.add(Status.fromThrowable(failure).getCode().name());
    }

    @Override
    public void onCompleted() {
      ends.add("done");
    }

    R answer() {
      assertThat(ends).containsExactly("done");
      assertThat(answers).hasSize(1);
      return answers.getFirst();
    }
  }

  private static <Q, R> Call<R> call(BiConsumer<Q, StreamObserver<R>> method, Q request) {
    Call<R> call = new Call<>();
    method.accept(request, call);
    return call;
  }

  private static void assertRefused(RequestStatus status, String text) {
    assertThat(status.getCode()).isEqualTo(RequestStatusCode.INVALID_ARG);
    assertThat(status.getMsg()).isEqualTo(text);
    assertThat(status.getServerId()).isEqualTo("here");
  }

  private HealthResponse health(String mode) {
    return call(service::health, HealthRequest.newBuilder().setMode(mode).build()).answer();
  }

  @Test
  void shouldTellHealthByMode() {
    assertThat(health("live").getHealth()).isTrue();
    assertThat(health("ready").getHealth()).isFalse();
    answers.isReady = true;
    HealthResponse ready = health("ready");
    assertThat(ready.getHealth()).isTrue();
    assertThat(ready.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    assertRefused(health("well").getRequestStatus(), "mode is 'well'; it may be 'live' or 'ready'");
  }

  @Test
  void shouldNumberWhatItTells() {
    assertThat(health("live").getRequestStatus().getRequestId()).isEqualTo(1);
    assertThat(health("dead").getRequestStatus().getRequestId()).isEqualTo(2);
  }

  private ModelControlResponse control(int type) {
    return call(
            service::modelControl,
            ModelControlRequest.newBuilder().setModelName("m").setTypeValue(type).build())
        .answer();
  }

  @Test
  void shouldLoadAndUnload() {
    assertThat(control(1).getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    assertThat(control(0).getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    assertThat(answers.asked).containsExactly("load m", "unload m");
    assertRefused(control(7).getRequestStatus(), "type is 7; it may be 0 (UNLOAD) or 1 (LOAD)");
  }

  @Test
  void shouldListEachModelOnce() {
    RepositoryResponse listed =
        call(service::repository, RepositoryRequest.newBuilder().setIndex(true).build()).answer();
    assertThat(listed.getIndex().getModelsList())
        .extracting(ModelEntry::getName)
        .containsExactly("b", "a");
    assertRefused(
        call(service::repository, RepositoryRequest.getDefaultInstance())
            .answer()
            .getRequestStatus(),
        "the request asks for nothing; set index to true");
  }

  private SharedMemoryControlResponse regions(SharedMemoryControlRequest.Builder request) {
    return call(service::sharedMemoryControl, request.build()).answer();
  }

  @Test
  void shouldAskForRegionsOfBothKinds() {
    regions(
        SharedMemoryControlRequest.newBuilder()
            .setRegister(
                Register.newBuilder()
                    .setName("s")
                    .setByteSize(64)
                    .setSystemSharedMemory(
                        SystemSharedMemoryIdentifier.newBuilder().setSharedMemoryKey("/k"))));
    regions(
        SharedMemoryControlRequest.newBuilder()
            .setRegister(
                Register.newBuilder()
                    .setName("c")
                    .setByteSize(32)
                    .setCudaSharedMemory(CUDASharedMemoryIdentifier.newBuilder().setDeviceId(1))));
    regions(
        SharedMemoryControlRequest.newBuilder()
            .setUnregister(Unregister.newBuilder().setName("s")));
    regions(
        SharedMemoryControlRequest.newBuilder()
            .setUnregisterAll(UnregisterAll.getDefaultInstance()));
    SharedMemoryControlResponse told =
        regions(
            SharedMemoryControlRequest.newBuilder()
                .setStatus(SharedMemoryControlRequest.Status.getDefaultInstance()));
    assertThat(told.getSharedMemoryStatus().getSharedMemoryRegion(0).getName()).isEqualTo("r");
    assertThat(told.getRequestStatus().getCode()).isEqualTo(RequestStatusCode.SUCCESS);
    assertThat(answers.asked)
        .containsExactly(
            "register s /k 64",
            "register c of device 1 32",
            "unregister 's'",
            "unregister ''",
            "regions");
  }

  static Stream<SharedMemoryControlRequest.Builder> nothingAsked() {
    return Stream.of(
        SharedMemoryControlRequest.newBuilder(),
        SharedMemoryControlRequest.newBuilder().setUnregister(Unregister.getDefaultInstance()),
        SharedMemoryControlRequest.newBuilder()
            .setRegister(Register.newBuilder().setName("r").setByteSize(1)));
  }

  /** An empty name of one region would be that of all. */
  @ParameterizedTest
  @MethodSource("nothingAsked")
  void shouldRefuseToGuessWhichRegionIsMeant(SharedMemoryControlRequest.Builder request) {
    assertThat(regions(request).getRequestStatus().getCode())
        .isEqualTo(RequestStatusCode.INVALID_ARG);
    assertThat(answers.asked).isEmpty();
  }

  @Test
  void shouldAnswerLaterAndTellTheFirstCauseOfAFailure() {
    answers.done = new CompletableFuture<>();
    Call<StatusResponse> status =
        call(service::status, StatusRequest.newBuilder().setModelName("m").build());
    assertThat(status.ends).isEmpty();
    answers.done.completeExceptionally(
        new CompletionException(WireException.invalidArgument("it is not there")));
    assertRefused(status.answer().getRequestStatus(), "it is not there");
    assertThat(answers.asked).containsExactly("status m");
  }

  @Test
  void shouldEndACallWhoseFailureCannotBeTold() {
    answers.cannotTell = true;
    Call<HealthResponse> call =
        call(service::health, HealthRequest.newBuilder().setMode("none").build());
    assertThat(call.ends).containsExactly("INTERNAL");
    assertThat(call.answers).isEmpty();
  }
}
