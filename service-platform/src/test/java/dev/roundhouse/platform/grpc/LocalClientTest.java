package dev.roundhouse.platform.grpc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc;
import dev.roundhouse.kserve.proto.GRPCInferenceServiceGrpc.GRPCInferenceServiceImplBase;
import dev.roundhouse.kserve.proto.ModelReadyRequest;
import dev.roundhouse.kserve.proto.ModelReadyResponse;
import dev.roundhouse.kserve.proto.RepositoryModelLoadRequest;
import dev.roundhouse.kserve.proto.RepositoryModelLoadResponse;
import dev.roundhouse.platform.access.AccessTest;
import dev.roundhouse.platform.audit.Caller;
import dev.roundhouse.platform.text.ClientText;
import io.grpc.Attributes;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.StreamObserver;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class LocalClientTest {
  private static final Metadata.Key<String> ABOUT =
      Metadata.Key.of("about", Metadata.ASCII_STRING_MARSHALLER);
  private static final Caller CALLER = new Caller("10.0.0.7:1", "POST /load");

  private final CompletableFuture<Caller> loader = new CompletableFuture<>();
  private final CountDownLatch begun = new CountDownLatch(1);
  private final CompletableFuture<Void> cancelled = new CompletableFuture<>();
  private final CompletableFuture<Void> contextEnded = new CompletableFuture<>();

  /** Ready is each model but those that are refused, or take for ever. */
  private final class Service extends GRPCInferenceServiceImplBase {
    @Override
    public void modelReady(ModelReadyRequest request, StreamObserver<ModelReadyResponse> call) {
      switch (request.getName()) {
        case "refused" -> {
          Metadata trailers = new Metadata();
          trailers.put(ABOUT, "model");
          call.onError(
              Status.NOT_FOUND.withDescription("/home/x is gone").asRuntimeException(trailers));
        }
        case "slow" -> {
          ((ServerCallStreamObserver<?>) call).setOnCancelHandler(() -> cancelled.complete(null));
          Context.current().addListener(ended -> contextEnded.complete(null), Runnable::run);
          begun.countDown();
        }
        default -> {
          call.onNext(ModelReadyResponse.newBuilder().setReady(true).build());
          call.onCompleted();
        }
      }
    }

    @Override
    public void repositoryModelLoad(
        RepositoryModelLoadRequest request, StreamObserver<RepositoryModelLoadResponse> call) {
      loader.complete(Caller.current());
      call.onNext(RepositoryModelLoadResponse.getDefaultInstance());
      call.onCompleted();
    }
  }

  private final LocalClient client =
      new LocalCalls(
              List.of(
                  GuardedService.of(
                      new AccessGate(AccessTest.access(Map.of()))
                          .before(new Service().bindService()),
                      new ClientText(List.of(Path.of("/home"))))))
          .client(Attributes.newBuilder().set(LocalCalls.CALLER, CALLER).build());

  private ModelReadyResponse ready(String model) {
    return client.ask(
        GRPCInferenceServiceGrpc.getModelReadyMethod(),
        ModelReadyRequest.newBuilder().setName(model).build());
  }

  private StatusRuntimeException refusal(String model) {
    return catchThrowableOfType(StatusRuntimeException.class, () -> ready(model));
  }

  @Test
  void shouldAnswerOneCallAfterTheOther() {
    assertThat(ready("a").getReady()).isTrue();
    assertThat(ready("b").getReady()).isTrue();
    client.close();
  }

  @Test
  void shouldTellWhatACallEndsWithAsOnThePort() {
    StatusRuntimeException refused = refusal("refused");
    assertThat(refused.getStatus().getCode()).isEqualTo(Status.Code.NOT_FOUND);
    assertThat(refused.getStatus().getDescription()).isEqualTo("x is gone");
    assertThat(Objects.requireNonNull(refused.getTrailers()).get(ABOUT)).isEqualTo("model");
    assertThat(refusal("a\nb").getStatus().getDescription()).contains("control character");
  }

  @Test
  void shouldActForWhoeverAsked() {
    var unused =
        client.ask(
            GRPCInferenceServiceGrpc.getRepositoryModelLoadMethod(),
            RepositoryModelLoadRequest.getDefaultInstance());
    assertThat(loader.join()).isEqualTo(CALLER);
  }

  @Test
  void shouldCancelWhatAClientHasAskedThatIsGone() throws Exception {
    CompletableFuture<StatusRuntimeException> end =
        CompletableFuture.supplyAsync(() -> refusal("slow"), Thread::startVirtualThread);
    begun.await();
    client.gone();
    assertThat(end.get(30, TimeUnit.SECONDS).getStatus().getCode())
        .isEqualTo(Status.Code.CANCELLED);
    cancelled.get(30, TimeUnit.SECONDS);
    contextEnded.get(30, TimeUnit.SECONDS);
    assertThat(refusal("slow").getStatus().getCode()).isEqualTo(Status.Code.CANCELLED);
  }
}
