package dev.roundhouse.node.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.node.config.NodeProperties;
import dev.roundhouse.node.devices.DeviceMonitor;
import dev.roundhouse.node.devices.Found;
import dev.roundhouse.node.process.ProcessPlan;
import dev.roundhouse.node.process.ProcessSpec;
import dev.roundhouse.platform.config.StartRefusedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

class NodePlanTest {
  private static final Found CPU = new Found(List.of(), "test", true);
  private static final Found TWO_GPUS = new Found(List.of("GPU-a", "1"), "test", true);

  @TempDir Path folder;

  @Test
  void shouldRunOneWorkerWithoutAGatewayOnTheOpenPorts() {
    NodePlan plan = plan(CPU, PassedOn.NOTHING, "worker.command=worker");
    assertThat(plan.processes()).extracting(ProcessPlan::name).containsExactly("worker0");
    assertThat(plan.fronts()).containsExactly("worker0");
    ProcessSpec spec = spec(plan, "worker0");
    Ports open = plan.ports().open().orElseThrow();
    assertThat(spec.command())
        .startsWith("worker")
        .contains(
            "--spring.grpc.server.port=" + open.grpc(),
            "--server.port=" + open.http(),
            "--management.server.port=" + open.metrics(),
            "--server.address=127.0.0.1",
            "--roundhouse.worker.shutdown.drain=12s")
        .noneMatch(argument -> argument.contains("device.platform"));
    assertThat(spec.environment())
        .isEqualTo(
            Map.of(
                "CUDA_VISIBLE_DEVICES",
                "",
                "ROUNDHOUSE_MEMORY_WORKERS",
                "1",
                "ROUNDHOUSE_SUPERVISED_GRACE_SECONDS",
                "15"));
  }

  @Test
  void shouldRunAWorkerForEachGpuAndAGatewayThatKnowsThem() {
    NodePlan plan = plan(TWO_GPUS, PassedOn.NOTHING, "worker.command=worker", "gateway.command=gw");
    assertThat(plan.processes())
        .extracting(ProcessPlan::name)
        .containsExactly("worker0", "worker1", "gateway");
    assertThat(plan.fronts()).containsExactly("gateway");
    assertThat(spec(plan, "worker0").environment())
        .containsEntry("CUDA_VISIBLE_DEVICES", "GPU-a")
        .containsEntry("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    assertThat(spec(plan, "worker1").environment()).containsEntry("CUDA_VISIBLE_DEVICES", "1");
    assertThat(spec(plan, "worker1").command())
        .contains(
            "--roundhouse.worker.device.platform=cuda",
            "--server.address=127.0.0.1",
            "--server.port=" + plan.workers().get(1).ports().http());
    assertThat(spec(plan, "gateway").command())
        .startsWith("gw")
        .contains(
            "--roundhouse.gateway.shutdown.drain=7s",
            "--roundhouse.gateway.workers.worker1.address=127.0.0.1:"
                + plan.workers().get(1).ports().grpc(),
            "--server.port=" + plan.ports().open().orElseThrow().http());
    assertThat(plan.processes())
        .allSatisfy(
            process ->
                assertThat(spec(plan, process.name()).environment())
                    .containsEntry("ROUNDHOUSE_MEMORY_WORKERS", "2"));
    assertThat(process(plan, "gateway").stopsAt()).isLessThan(process(plan, "worker0").stopsAt());
    assertThat(process(plan, "gateway").stopGrace()).isEqualTo(Duration.ofSeconds(10));
  }

  @Test
  void shouldRunWorkersAloneForGatewaysElsewhere() {
    NodePlan plan = plan(TWO_GPUS, PassedOn.NOTHING, "role=workers", "worker.command=worker");
    assertThat(plan.processes())
        .extracting(ProcessPlan::name)
        .containsExactly("worker0", "worker1");
    assertThat(plan.fronts()).containsExactly("worker0", "worker1");
    assertThat(plan.ports().open()).isEmpty();
    assertThat(
            spec(
                    plan(
                        CPU,
                        PassedOn.NOTHING,
                        "role=workers",
                        "worker.command=worker",
                        "ports.address=127.0.0.2",
                        "devices.cpu-workers=2"),
                    "worker1")
                .command())
        .as("others reach it")
        .contains("--server.address=127.0.0.2");
  }

  @Test
  void shouldRunAGatewayAloneForWorkersElsewhere() {
    PassedOn passed =
        new PassedOn(
            Map.of(),
            Map.of("roundhouse.gateway.workers.far.address", "far:8001"),
            false,
            Set.of(),
            Drain.UNSET,
            Drain.UNSET);
    NodePlan plan = plan(TWO_GPUS, passed, "role=gateway", "gateway.command=gw");
    assertThat(plan.processes()).extracting(ProcessPlan::name).containsExactly("gateway");
    assertThat(plan.fronts()).containsExactly("gateway");
    assertThat(plan.workers()).isEmpty();
    ProcessSpec spec = spec(plan, "gateway");
    assertThat(spec.command())
        .contains(
            "--roundhouse.gateway.workers.far.address=far:8001",
            "--server.port=" + plan.ports().open().orElseThrow().http())
        .noneMatch(argument -> argument.contains("workers.worker0"));
    assertThat(spec.environment())
        .as("the memory is its own")
        .doesNotContainKey("ROUNDHOUSE_MEMORY_WORKERS");
  }

  @Test
  void shouldDivideTheProcessorsAmongWorkersOnTheCpuUnlessThatIsSaid() {
    String[] three = {"worker.command=worker", "gateway.command=gw", "devices.cpu-workers=3"};
    int share = Math.max(1, Runtime.getRuntime().availableProcessors() / 3);
    assertThat(spec(plan(CPU, PassedOn.NOTHING, three), "worker2").command())
        .contains("--roundhouse.worker.device.cpu.threads=" + share);
    PassedOn said =
        new PassedOn(
            Map.of(), Map.of(), false, Set.of(PassedOn.CPU_THREADS), Drain.UNSET, Drain.UNSET);
    assertThat(spec(plan(CPU, said, three), "worker2").command())
        .noneMatch(argument -> argument.contains("cpu.threads"));
  }

  @Test
  void shouldDivideTheProcessorsAmongTheJvmsOfWorkersUnlessThatIsSaid() throws Exception {
    Path jar = Files.createFile(folder.resolve("worker-service-1.2.jar"));
    int share = Math.max(2, Runtime.getRuntime().availableProcessors() / 2);
    String option = "-XX:ActiveProcessorCount=" + share;
    String java = "worker.jvm-options=-Xmx1g";
    String other = "gateway.command=gw";
    ProcessSpec one = spec(plan(TWO_GPUS, PassedOn.NOTHING, java, other), "worker1");
    assertThat(one.command()).containsSequence(option, "-Xmx1g", "-jar", jar.toString());
    assertThat(one.environment()).containsEntry("ROUNDHOUSE_PROCESSORS", "" + share);
    String said = "worker.jvm-options=-XX:ActiveProcessorCount=7";
    ProcessSpec seven = spec(plan(TWO_GPUS, PassedOn.NOTHING, said, other), "worker1");
    assertThat(seven.command()).contains("-XX:ActiveProcessorCount=7").doesNotContain(option);
    assertThat(seven.environment()).doesNotContainKey("ROUNDHOUSE_PROCESSORS");
    ProcessSpec alone = spec(plan(CPU, PassedOn.NOTHING, java), "worker0");
    assertThat(alone.command()).noneMatch(each -> each.contains("ActiveProcessorCount"));
    ProcessSpec own = spec(plan(TWO_GPUS, PassedOn.NOTHING, "worker.command=w", other), "worker0");
    assertThat(own.command()).startsWith("w").noneMatch(each -> each.startsWith("-XX"));
    assertThat(own.environment()).containsEntry("ROUNDHOUSE_PROCESSORS", "" + share);
  }

  @Test
  void shouldCallWorkersAsIsWantedOrSayWhyNot() {
    String[] two = {"worker.command=worker", "gateway.command=gw", ""};
    two[2] = "worker.names=left,right";
    NodePlan plan = plan(TWO_GPUS, PassedOn.NOTHING, two);
    assertThat(plan.processes())
        .extracting(ProcessPlan::name)
        .containsExactly("left", "right", "gateway");
    assertThat(spec(plan, "gateway").command())
        .anyMatch(argument -> argument.startsWith("--roundhouse.gateway.workers.left.address="));
    two[2] = "worker.names=left";
    assertThatThrownBy(() -> plan(TWO_GPUS, PassedOn.NOTHING, two))
        .hasMessageContaining("roundhouse.node.worker.names has 1 names for 2 workers");
    two[2] = "worker.names=left,left";
    assertThatThrownBy(() -> plan(TWO_GPUS, PassedOn.NOTHING, two))
        .hasMessageContaining("'left' twice");
    two[2] = "worker.names=left,gateway";
    assertThatThrownBy(() -> plan(TWO_GPUS, PassedOn.NOTHING, two))
        .hasMessageContaining("'gateway' twice, or it is the gateway's");
  }

  @Test
  void shouldLeaveTheOrderOfCudasOwnNumbersAlone() {
    Found visible = new Found(List.of("3"), "CUDA_VISIBLE_DEVICES", false);
    assertThat(
            spec(plan(visible, PassedOn.NOTHING, "worker.command=worker"), "worker0").environment())
        .containsEntry("CUDA_VISIBLE_DEVICES", "3")
        .doesNotContainKey("CUDA_DEVICE_ORDER");
  }

  @Test
  void shouldPassOnWhatIsSaidOfTheOthersAndSayEachSettingOnce() {
    PassedOn passed =
        new PassedOn(
            Map.of("roundhouse.worker.server.name", "mine"),
            Map.of("roundhouse.gateway.mode", "lpt"),
            true,
            Set.of(PassedOn.PLATFORM),
            new Drain(Optional.of(Duration.ofSeconds(5)), Duration.ZERO),
            Drain.UNSET);
    NodePlan plan =
        plan(
            TWO_GPUS,
            passed,
            "worker.command=worker",
            "worker.arguments=--roundhouse.worker.server.name=other,--debug",
            "gateway.command=gw");
    List<String> worker = spec(plan, "worker0").command();
    assertThat(worker)
        .contains("--roundhouse.worker.server.name=other", "--debug")
        .noneMatch(argument -> argument.contains("mine"))
        .noneMatch(argument -> argument.contains("shutdown.drain"))
        .noneMatch(argument -> argument.contains("device.platform"));
    assertThat(spec(plan, "gateway").command())
        .contains("--roundhouse.gateway.mode=lpt")
        .contains("--logging.structured.format.console=ecs")
        .contains("--logging.structured.ecs.service.node-name=gateway");
  }

  @Test
  void shouldFindTheJarsBesideItsOwnAndRefuseByTheKey() throws Exception {
    assertThatThrownBy(() -> plan(CPU, PassedOn.NOTHING))
        .hasMessageContaining("there is no worker-service.jar and no worker-service-*.jar");
    Path jar = Files.createFile(folder.resolve("worker-service-1.2.jar"));
    Files.createFile(folder.resolve("worker-service-1.2-sources.jar"));
    assertThat(spec(plan(CPU, PassedOn.NOTHING, "worker.jvm-options=-Xmx1g"), "worker0").command())
        .containsSequence("-Xmx1g", "-jar", jar.toString());
    Files.createFile(folder.resolve("worker-service-1.3.jar"));
    assertThatThrownBy(() -> plan(CPU, PassedOn.NOTHING))
        .hasMessageContaining("it cannot be told which to start");
    assertThatThrownBy(() -> plan(CPU, PassedOn.NOTHING, "worker.jar=/missing.jar"))
        .hasMessageContaining("roundhouse.node.worker.jar is '/missing.jar'");
    assertThatThrownBy(() -> plan(TWO_GPUS, PassedOn.NOTHING, "worker.command=worker"))
        .hasMessageContaining("gateway-service");
  }

  @ParameterizedTest
  @ValueSource(strings = {"worker", "gateway"})
  void shouldRefuseWhatAnotherProgramDoesNotHear(String application) {
    String key = "roundhouse.node." + application + ".";
    assertThatThrownBy(
            () ->
                plan(
                    CPU,
                    PassedOn.NOTHING,
                    "worker.command=own,program",
                    application + ".command=own,program",
                    application + ".jvm-options=-Xmx1g,-Xss1m"))
        .isInstanceOf(StartRefusedException.class)
        .hasMessage(
            key
                + "jvm-options is '-Xmx1g -Xss1m', and "
                + key
                + "command starts 'own program' in the place of Java with these options.");
    assertThatThrownBy(
            () ->
                plan(
                    CPU,
                    PassedOn.NOTHING,
                    "worker.command=own",
                    application + ".command=own",
                    application + ".jar=/a.jar"))
        .hasMessage(key + "jar is '/a.jar', and " + key + "command starts 'own' in its place.");
  }

  @Test
  void shouldRefuseADrainThatWouldBeCutShort() {
    Drain fifteen = new Drain(Optional.of(Duration.ofSeconds(10)), Duration.ofSeconds(5));
    PassedOn passed = new PassedOn(Map.of(), Map.of(), false, Set.of(), fifteen, Drain.UNSET);
    assertThatThrownBy(() -> plan(CPU, passed, "worker.command=worker"))
        .hasMessageContaining("a worker takes 15 s to stop")
        .hasMessageContaining("roundhouse.node.worker.stop-grace, which is 15 s");
    assertThat(spec(plan(CPU, passed, "worker.command=worker", "worker.stop-grace=16s"), "worker0"))
        .isNotNull();
    PassedOn gateway = new PassedOn(Map.of(), Map.of(), false, Set.of(), Drain.UNSET, fifteen);
    assertThatThrownBy(() -> plan(TWO_GPUS, gateway, "worker.command=worker", "gateway.command=gw"))
        .hasMessageContaining("roundhouse.node.gateway.stop-grace, which is 10 s");
  }

  @Test
  void shouldMakeRoomForALameDuck() {
    Drain lame = new Drain(Optional.empty(), Duration.ofSeconds(5));
    PassedOn passed = new PassedOn(Map.of(), Map.of(), false, Set.of(), lame, Drain.UNSET);
    assertThat(spec(plan(CPU, passed, "worker.command=worker"), "worker0").command())
        .contains("--roundhouse.worker.shutdown.drain=7s");
  }

  private NodePlan plan(Found devices, PassedOn passed, String... settings) {
    return NodePlan.of(
        properties(settings),
        devices,
        passed,
        new DeviceMonitor(devices.gpus(), ids -> Map.of(), System::nanoTime),
        new Jars(folder));
  }

  private static NodeProperties properties(String... settings) {
    Map<String, String> values = new HashMap<>();
    for (String port : List.of("grpc", "http", "metrics", "node", "worker-base")) {
      values.put("roundhouse.node.ports." + port, "0");
    }
    values.put("roundhouse.node.ports.address", "127.0.0.1");
    for (String setting : settings) {
      int equals = setting.indexOf('=');
      values.put("roundhouse.node." + setting.substring(0, equals), setting.substring(equals + 1));
    }
    return new Binder(new MapConfigurationPropertySource(values))
        .bindOrCreate(NodeProperties.PREFIX, NodeProperties.class);
  }

  private static ProcessPlan process(NodePlan plan, String name) {
    return plan.processes().stream()
        .filter(process -> process.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  private static ProcessSpec spec(NodePlan plan, String name) {
    return process(plan, name).spec().get();
  }
}
