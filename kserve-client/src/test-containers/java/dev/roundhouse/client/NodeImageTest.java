package dev.roundhouse.client;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.model.Capability;
import com.github.dockerjava.api.model.HostConfig;
import dev.roundhouse.client.tensor.Tensor;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.BindMode;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/**
 * The client against a node in a container: two workers behind a gateway, as nobody, with a root
 * file system that cannot be written. {@code mvn -P containers -Dnode.image=roundhouse-node:TAG};
 * {@code ./roundhouse test --images} runs it.
 */
@Timeout(700)
class NodeImageTest {
  private static final int GRPC = 8001;
  private static @Nullable GenericContainer<?> node;

  @BeforeAll
  static void start() {
    String image = System.getProperty("node.image", "");
    if (image.isEmpty()) {
      skip("no image is named: -Dnode.image=roundhouse-node:TAG");
    }
    if (!DockerClientFactory.instance().isDockerAvailable()) {
      skip("no container engine answers; DOCKER_HOST says where one does");
    }
    GenericContainer<?> container =
        new GenericContainer<>(DockerImageName.parse(image))
            .withImagePullPolicy(name -> false)
            .withExposedPorts(8000, GRPC)
            .withEnv("ROUNDHOUSE_NODE_DEVICES_CPU_WORKERS", "2")
            .withFileSystemBind(
                Path.of("..", "examples", "models").toAbsolutePath().normalize().toString(),
                "/models",
                BindMode.READ_ONLY)
            .withTmpFs(Map.of("/tmp", "size=256m,mode=1777"))
            .withCreateContainerCmdModifier(
                command ->
                    harden(Objects.requireNonNull(command.getHostConfig(), "made by the library")))
            .waitingFor(
                Wait.forHttp("/v2/health/ready")
                    .forPort(8000)
                    .withStartupTimeout(Duration.ofMinutes(10)));
    node = container;
    container.start();
  }

  private static void harden(HostConfig host) {
    host.withReadonlyRootfs(true)
        .withCapDrop(Capability.ALL)
        .withSecurityOpts(List.of("no-new-privileges"))
        .withMemory(4L << 30);
  }

  @AfterAll
  static void stop() {
    if (node != null) {
      node.close();
    }
  }

  @Test
  void shouldAnswerCallsAndSaySoOfItself() throws Exception {
    GenericContainer<?> container = Objects.requireNonNull(node);
    String address = container.getHost() + ":" + container.getMappedPort(GRPC);
    try (KServeClient client =
        KServeClient.to(address).deadline(Duration.ofSeconds(60)).build()) {
      assertThat(client.ready()).isTrue();
      InferRequest request =
          InferRequest.to("scalar").input("x", Tensor.of(new float[] {1, 2, 3}, 3)).build();
      float first = client.infer(request).output("score").floats()[0];
      for (int i = 0; i < 20; i++) { // by either worker
        assertThat(client.infer(request).output("score").floats()).containsExactly(first);
      }
    }
    assertThat(container.getLogs()).contains("workers=2 gateway=true");
  }

  private static void skip(String why) {
    System.err.println("NodeImageTest is skipped: " + why);
    Assumptions.abort(why);
  }
}
