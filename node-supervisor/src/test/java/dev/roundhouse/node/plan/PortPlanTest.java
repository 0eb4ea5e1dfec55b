package dev.roundhouse.node.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.node.config.PortProperties;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class PortPlanTest {
  private static final String LOOPBACK = "127.0.0.1";

  @Test
  void shouldGiveTheOnlyWorkerTheOpenPorts() {
    PortPlan plan = PortPlan.of(new PortProperties(LOOPBACK, 0, 0, 0, 0, 0), 1, false);
    assertThat(plan.workers()).containsExactly(plan.open().orElseThrow());
  }

  @Test
  void shouldGiveEachOfSeveralPortsThatNobodyElseHas() {
    PortPlan plan = PortPlan.of(new PortProperties(LOOPBACK, 0, 0, 0, 0, 0), 3, true);
    Set<Integer> all = new HashSet<>(List.of(plan.node()));
    for (Ports each : plan.workers()) {
      all.addAll(List.of(each.grpc(), each.http(), each.metrics()));
    }
    Ports open = plan.open().orElseThrow();
    all.addAll(List.of(open.grpc(), open.http(), open.metrics()));
    assertThat(all).hasSize(13).allSatisfy(port -> assertThat(port).isBetween(1, 65535));
  }

  @Test
  void shouldOpenThePortsOfSeveralWhereNoGatewayStandsBeforeThem() throws Exception {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.2"))) {
      int taken = other.getLocalPort(); // by another at the address that workers are to have
      PortProperties settings = new PortProperties("127.0.0.2", taken, 0, 0, 0, 0);
      PortPlan plan = PortPlan.of(settings, 2, false);
      assertThat(plan.open()).as("ports.grpc is of nobody").isEmpty();
      assertThat(plan.workers()).hasSize(2).doesNotHaveDuplicates();
      assertThatThrownBy(() -> PortPlan.of(settings, 1, false))
          .hasMessageContaining("port %d of roundhouse.node.ports.grpc cannot be", taken);
      assertThatThrownBy(() -> PortPlan.of(settings, 0, true))
          .hasMessageContaining("port %d of roundhouse.node.ports.grpc cannot be", taken);
    }
  }

  @Test
  void shouldNumberThePortsOfWorkersFromTheirBase() throws Exception {
    int base = freeBase(6);
    PortPlan plan = PortPlan.of(new PortProperties(LOOPBACK, 0, 0, 0, 0, base), 2, true);
    assertThat(plan.workers())
        .containsExactly(
            new Ports(base, base + 1, base + 2), new Ports(base + 3, base + 4, base + 5));
  }

  @Test
  void shouldNameBothWhenAPortIsGivenTwice() throws Exception {
    int base = freeBase(6);
    assertThatThrownBy(
            () -> PortPlan.of(new PortProperties(LOOPBACK, 0, base + 4, 0, 0, base), 2, true))
        .hasMessageContaining(
            "port %d is given to both roundhouse.node.ports.http and worker1", base + 4);
    assertThatThrownBy(
            () -> PortPlan.of(new PortProperties(LOOPBACK, base, 0, 0, base, 0), 1, false))
        .hasMessageContaining("roundhouse.node.ports.grpc and roundhouse.node.ports.node");
  }

  @Test
  void shouldNameAPortThatIsInUse() throws Exception {
    try (ServerSocket other = new ServerSocket(0, 1, InetAddress.getByName(LOOPBACK))) {
      int port = other.getLocalPort();
      assertThatThrownBy(() -> PortPlan.of(new PortProperties(LOOPBACK, port, 0, 0, 0, 0), 2, true))
          .hasMessageContaining("port %d of roundhouse.node.ports.grpc cannot be", port);
    }
  }

  @Test
  void shouldRefusePortsBeyondTheLastAndAddressesThatAreNone() {
    assertThatThrownBy(() -> PortPlan.of(new PortProperties(LOOPBACK, 0, 0, 0, 0, 65530), 3, true))
        .hasMessageContaining("worker2")
        .hasMessageContaining("port 65536");
    assertThatThrownBy(() -> PortPlan.of(new PortProperties("no address", 0, 0, 0, 0, 0), 1, false))
        .hasMessageContaining("roundhouse.node.ports.address is 'no address'");
  }

  /** Below the range that the system gives out, so that nothing takes them meanwhile. */
  private static int freeBase(int count) throws Exception {
    for (int base = 21_000; base < 31_000; base += 10) {
      boolean free = true;
      for (int port = base; port < base + count && free; port++) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getByName(LOOPBACK))) {
          free = socket.isBound();
        } catch (java.io.IOException taken) {
          free = false;
        }
      }
      if (free) {
        return base;
      }
    }
    throw new AssertionError("no free ports");
  }
}
