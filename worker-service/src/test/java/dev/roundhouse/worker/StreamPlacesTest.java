package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.client.stream.StreamRefusedException;
import dev.roundhouse.client.stream.StreamResult;
import dev.roundhouse.client.stream.TensorStream;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.SharedObject;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Streams whose messages say where in shared memory their tensors are. */
@Timeout(120)
class StreamPlacesTest {
  private static final Gate GATE = new Gate();
  private static final int PAGE = 4096;

  @TempDir static Path repository;
  private static RunningWorker worker;
  private final SharedObject object = new SharedObject(2 * PAGE);

  StreamPlacesTest() throws IOException {
    regions().register("r", object.key(), 0, 2 * PAGE);
  }

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4).write(repository, "double");
    worker =
        new RunningWorker(
                repository,
                GATE,
                "--roundhouse.worker.shared-memory.enabled=true",
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void letGo() throws IOException {
    GATE.open();
    regions().unregister("");
    object.close();
    while (regions().heldSystem().regions() > 0 || !worker.holdsNothing()) {
      Thread.onSpinWait();
    }
  }

  private static ClientRegions regions() {
    return worker.bean(ClientRegions.class);
  }

  private static TensorStream open(String inputs, String outputs, StreamOption... options)
      throws IOException {
    return TensorStream.open(
        new InetSocketAddress("127.0.0.1", worker.port("stream")),
        new ClientHello(
            1, 1, Set.of(options), 8, 1, 0, "double", "", "", "", inputs, outputs, null));
  }

  @Test
  void shouldReadAndWriteWhereMessagesSay() throws Exception {
    try (TensorStream stream =
        open("r", "r", StreamOption.SHARED_MEMORY, StreamOption.CHECKSUM, StreamOption.DEADLINE)) {
      for (int i = 0; i < 8; i++) {
        object.put(64L * i, i, -i);
        stream.sendPlace(64L * i, PAGE + 64L * i, Duration.ofMinutes(1));
      }
      for (int i = 0; i < 8; i++) {
        StreamResult result = stream.receive();
        assertThat(result.isOk()).as(result.text()).isTrue();
        assertThat(result.payload().remaining()).isZero();
        int number = (int) result.sequence();
        assertThat(object.get(PAGE + 64 * number, 2)).containsExactly(2 * number, -2 * number);
      }
    }
  }

  @Test
  void shouldSendResultsWhenNoRegionIsNamedForThem() throws Exception {
    try (TensorStream stream = open("r", "", StreamOption.SHARED_MEMORY)) {
      object.put(2 * PAGE - 8, 1, 2); // the last there are
      stream.sendPlace(2 * PAGE - 8, -1, null);
      StreamResult result = stream.receive();
      assertThat(result.output(0).getFloat()).isEqualTo(2);
      assertThat(result.output(0).getFloat(4)).isEqualTo(4);
      assertThatThrownBy(() -> stream.send(List.of(ByteBuffer.allocate(8))))
          .hasMessageContaining("in shared memory");
    }
  }

  @Test
  void shouldRefuseAMessageThatLiesAboutItsPlaceAndServeTheRest() throws Exception {
    try (TensorStream stream = open("r", "r", StreamOption.SHARED_MEMORY)) {
      for (long wrong : new long[] {2 * PAGE - 7, -1, Long.MIN_VALUE, Long.MAX_VALUE}) {
        stream.sendPlace(wrong, 0, null);
        StreamResult inputs = stream.receive();
        assertThat(inputs.status()).isEqualTo(3);
        assertThat(inputs.text())
            .isEqualTo(
                "the message says that its tensors, 8 bytes, begin at %s of shared memory region 'r', which has 8192 bytes"
                    .formatted(Long.toUnsignedString(wrong)));
        stream.sendPlace(0, wrong, null);
        assertThat(stream.receive().text()).contains("that its result, 8 bytes, begin");
      }
      object.put(0, 3, 4);
      stream.sendPlace(0, 8, null);
      assertThat(stream.receive().isOk()).isTrue();
      assertThat(object.get(8, 2)).containsExactly(6, 8);
    }
  }

  @Test
  void shouldFailMessagesWhoseMemoryIsGoneAlone() throws Exception {
    try (TensorStream stream = open("r", "r", StreamOption.SHARED_MEMORY)) {
      object.truncate(PAGE);
      stream.sendPlace(PAGE + 64, 0, null);
      StreamResult lost = stream.receive();
      assertThat(lost.status()).isNotZero();
      stream.sendPlace(0, PAGE + 64, null);
      StreamResult unwritten = stream.receive();
      assertThat(unwritten.status()).isNotZero();
      assertThat(unwritten.text()).contains("shared memory region 'r'");
      object.put(0, 1, 1);
      stream.sendPlace(0, 8, null);
      assertThat(stream.receive().isOk()).isTrue();
      assertThat(object.get(8, 2)).containsExactly(2, 2);
    }
  }

  /** As a request keeps one, until it is over. */
  @Test
  void shouldKeepRegionsThatAreUnregisteredUntilStreamAndMessagesAreOver() throws Exception {
    object.put(0, 5, 6);
    try (TensorStream stream = open("r", "r", StreamOption.SHARED_MEMORY)) {
      regions().unregister("r");
      stream.sendPlace(0, 8, null);
      assertThat(stream.receive().isOk()).isTrue();
      assertThat(object.get(8, 2)).containsExactly(10, 12);
      GATE.shut();
      stream.sendPlace(0, 8, null);
      GATE.awaitArrival();
    } // and goes away
    GATE.open();
  }

  @Test
  void shouldRefuseByNameRegionsThatCannotBeHad() {
    assertRefused("none", "r", "Unable to find shared memory region: 'none'", true);
    assertRefused("r", "none", "Unable to find shared memory region: 'none'", true);
    assertRefused("", "r", "shared memory region name cannot be empty", true);
    assertRefused("r", "", "without the option to use them", false);
  }

  private static void assertRefused(String inputs, String outputs, String why, boolean wants) {
    StreamOption[] options =
        wants ? new StreamOption[] {StreamOption.SHARED_MEMORY} : new StreamOption[0];
    assertThatThrownBy(() -> open(inputs, outputs, options))
        .isInstanceOfSatisfying(
            StreamRefusedException.class,
            refused -> {
              assertThat(refused.status()).isEqualTo(HelloStatus.BAD_HELLO);
              assertThat(refused).hasMessageContaining(why);
            });
  }
}
