package dev.roundhouse.node.plan;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

class FreePortsTest {
  private static final InetAddress LOOPBACK = InetAddress.getLoopbackAddress();

  @Test
  void shouldTakeThoseThatNoConnectionIsGiven() {
    assertThat(FreePorts.outside("32768\t60999")).isEqualTo(new FreePorts(20_000, 32_767));
    assertThat(FreePorts.outside("1024 65535")).isEqualTo(new FreePorts(65_536, 65_535));
    assertThat(FreePorts.outside("1024 40000")).isEqualTo(new FreePorts(40_001, 65_535));
    assertThat(FreePorts.outside("1024 10000")).isEqualTo(new FreePorts(20_000, 65_535));
  }

  @Test
  @EnabledOnOs(OS.LINUX)
  void shouldKnowThoseOfThisMachine() {
    FreePorts known = FreePorts.ofThisMachine();
    assertThat(known.first()).isGreaterThan(1024);
    assertThat(known.last()).isLessThanOrEqualTo(65_535);
  }

  @Test
  void shouldListenAtOneOfThem() throws IOException {
    List<ServerSocket> held = new ArrayList<>();
    try {
      for (int i = 0; i < 200; i++) {
        held.add(new FreePorts(20_000, 20_999).listen(LOOPBACK));
      }
      assertThat(held).extracting(ServerSocket::getLocalPort).doesNotHaveDuplicates();
      assertThat(held).allMatch(socket -> socket.getLocalPort() / 1000 == 20);
    } finally {
      for (ServerSocket each : held) {
        each.close();
      }
    }
  }

  @Test
  void shouldListenWhereTheSystemSaysWhenThereAreTooFew() throws IOException {
    try (ServerSocket socket = new FreePorts(65_536, 65_535).listen(LOOPBACK)) {
      assertThat(socket.getLocalPort()).isPositive();
    }
  }
}
