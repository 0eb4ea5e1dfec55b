package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.client.retry.RetryPolicy;
import io.grpc.Status;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ControlCallsTest {
  private final FakeServer server;
  private final KServeClient client;

  ControlCallsTest() throws Exception {
    server = new FakeServer();
    client =
        KServeClient.to(server.address())
            .retry(RetryPolicy.DEFAULT.withWaits(Duration.ofMillis(1), 1, Duration.ofMillis(1)))
            .build();
  }

  @AfterEach
  void close() {
    client.close();
    server.close();
  }

  @Test
  void shouldTellWhatAModelTakesAndGives() {
    ModelShape shape = client.shape("double");
    assertThat(shape.inputs())
        .containsExactly(new TensorShape("x", DType.F32, Shape.of(-1, -1), 0, false));
    assertThat(shape.output("y")).hasToString("FP32[-1,-1]");
    assertThat(shape.maxBatch()).isEqualTo(FakeServer.MAX_BATCH);
    assertThat(shape.versions()).containsExactly("1");
    shape.check(InferTest.doubling(1, 2).build());
    assertThatThrownBy(() -> client.shape("nobody")).hasMessageContaining("nobody");
  }

  @Test
  void shouldFindTheAxisOfRowsWhereItIsNotTheFirst() {
    ModelShape shape = client.shape("columns");
    assertThat(shape.maxBatch()).isEqualTo(4);
    assertThat(shape.input("x").batchAxis()).isEqualTo(1);
    assertThat(ModelShape.byteSize(shape.output("y"), 3)).hasValue(24);
  }

  @Test
  void shouldDoWithoutAConfigurationThatAServerDoesNotTell() {
    server.config.set(false);
    assertThat(client.shape("double").maxBatch()).isZero();
    assertThat(client.shape("double").input("x").batchAxis()).isNegative();
  }

  @Test
  void shouldTellOfTheServerAndItsModels() {
    assertThat(client.server().name()).isEqualTo("fake");
    assertThat(client.server().extensions()).containsExactly("model_repository");
    assertThat(client.live()).isTrue();
    assertThat(client.ready()).isTrue();
    assertThat(client.ready("double")).isTrue();
    assertThat(client.ready("nobody")).isFalse();
    assertThat(client.models())
        .containsExactly(
            new ModelState("double", "1", "READY", ""),
            new ModelState("late", "", "UNAVAILABLE", "unloaded"));
    assertThat(client.statistics("double").getFirst().getInferenceCount()).isEqualTo(7);
  }

  @Test
  void shouldLoadAndUnload() {
    client.load("late", Duration.ofSeconds(30));
    assertThat(client.ready("late")).isTrue();
    client.unload("late", Duration.ofSeconds(30));
    assertThat(client.ready("late")).isFalse();
    assertThatThrownBy(() -> client.load("broken", Duration.ofSeconds(30)))
        .isInstanceOf(KServeException.class)
        .hasMessage("INTERNAL: failed to load 'broken'");
  }

  @Test
  void shouldAskAgainForWhatChangesNothing() {
    server.refuse(2, Status.UNAVAILABLE);
    assertThat(client.server().name()).isEqualTo("fake");
    server.refuse(1, Status.UNAVAILABLE);
    assertThatThrownBy(() -> client.load("late", Duration.ofSeconds(30)))
        .hasMessageContaining("UNAVAILABLE");
  }

  @Test
  void shouldNotCallAServerReadyThatIsNotThere() {
    server.close();
    assertThat(client.live()).isFalse();
    assertThat(client.ready("double")).isFalse();
    assertThatThrownBy(client::server).hasMessageContaining("UNAVAILABLE");
  }
}
