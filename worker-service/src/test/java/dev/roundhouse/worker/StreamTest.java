package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;

import dev.roundhouse.bundle.tensor.DType;
import dev.roundhouse.bundle.tensor.Shape;
import dev.roundhouse.engine.Engine;
import dev.roundhouse.engine.observe.Metric;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.proto.ModelInferRequest;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.RecordKind;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.kserve.tstream.StreamSpec;
import dev.roundhouse.kserve.tstream.StreamTensor;
import dev.roundhouse.worker.StreamPeer.Said;
import dev.roundhouse.worker.transport.tstream.StreamLoad;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import dev.roundhouse.worker.transport.tstream.StreamStages;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** Tensor streams of a whole worker on the simulated device, over real sockets. */
@Timeout(120)
@ExtendWith(OutputCaptureExtension.class)
class StreamTest {
  /** Floats of a message that comes in several reads. */
  private static final int WIDE = 50_000;

  private static final Gate GATE = new Gate();
  private static final StreamSpec PAIR =
      new StreamSpec(List.of(pair("x", DType.F32)), List.of(pair("y", DType.F32)));

  @TempDir static Path repository;
  @TempDir static Path folder;
  private static RunningWorker worker;

  private static StreamTensor pair(String name, DType dtype) {
    return new StreamTensor(name, dtype, Shape.of(1, 2));
  }

  @BeforeAll
  static void start() throws Exception {
    TestBundle.doubling(2, 1, 4, 16).write(repository, "double");
    TestBundle.doubling(WIDE, 1).write(repository, "wide");
    worker =
        new RunningWorker(
                repository,
                GATE,
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1",
                "--roundhouse.worker.stream.socket=" + folder.resolve("s"),
                "--roundhouse.worker.stream.handshake-timeout=3s",
                "--roundhouse.worker.server.stalled-message-timeout=2s",
                "--roundhouse.worker.stream.max-window=1000")
            .awaitLoaded();
  }

  @AfterAll
  static void stop() {
    worker.close();
  }

  @AfterEach
  void shouldHaveLeftNothingBehind(CapturedOutput output) {
    GATE.open();
    worker.assertHoldsNothing();
    await(() -> load().connections() == 0);
    assertThat(load().open()).as("messages that are not answered").isZero();
    assertThat(output).doesNotContain("ERROR").doesNotContain("Exception");
  }

  private static StreamLoad load() {
    return worker.bean(StreamServer.class).load();
  }

  private static StreamPeer connect() throws IOException {
    return new StreamPeer(worker.port("stream"));
  }

  private static ClientHello hello(String model, int window) {
    return ClientHello.of(model, null, window);
  }

  private static ClientHello wanting(int window, StreamOption... options) {
    return new ClientHello(1, 1, Set.of(options), window, 1, 0, "double", "", "", "", "", "", PAIR);
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + 30_000_000_000L;
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  // --- what goes well

  @Test
  void shouldRunRowsOfSeveralConnectionsWhereTheyWereReceived() throws Exception {
    GATE.shut();
    try (StreamPeer first = connect();
        StreamPeer busy = connect();
        StreamPeer second = connect()) {
      first.greet(hello("double", 64));
      second.greet(hello("double", 64));
      busy.greet(hello("wide", 1));
      long before = inPlace();
      long taken = load().takenEver();
      busy.send(new byte[WIDE * Float.BYTES]);
      GATE.awaitArrival();
      for (int message = 0; message < 16; message++) { // of a message begun, and then the rest
        byte[] bytes = StreamPeer.floats(message, -message);
        StreamPeer of = message % 2 == 0 ? first : second;
        of.send(Arrays.copyOf(bytes, 5));
        of.send(Arrays.copyOfRange(bytes, 5, 8));
        int sent = message + 2;
        await(() -> load().takenEver() == taken + sent);
      }
      GATE.open();
      for (int message = 0; message < 16; message += 2) {
        assertThat(first.result().floats()).containsExactly(2 * message, -2 * message);
        assertThat(second.result().floats()).containsExactly(2 * message + 2, -2 * message - 2);
      }
      assertThat(busy.result().status()).isZero();
      assertThat(inPlace() - before).as("in one run").isEqualTo(16);
    }
  }

  /** What is in use of the windows is somewhere, and in one place. */
  @Test
  void shouldSayWhereMessagesAre() throws Exception {
    GATE.shut();
    try (StreamPeer peer = connect();
        StreamPeer slow = connect()) {
      peer.greet(hello("double", 64));
      peer.send(new byte[8]);
      GATE.awaitArrival();
      peer.send(new byte[40 * 8]).send(new byte[3]);
      await(() -> stages().receiving() == 1);
      StreamStages held = stages();
      assertThat(held.running()).isBetween(1L, 33L); // one runs, and sixteen each are made up
      assertThat(held.waiting()).isEqualTo(41 - held.running());
      assertThat(held.sending()).isZero();
      GATE.open();
      peer.send(new byte[5]);
      for (int i = 0; i < 42; i++) {
        assertThat(peer.result().status()).isZero();
      }
      await(() -> stages().equals(StreamStages.NONE));

      slow.greet(hello("wide", 100));
      byte[] wide = new byte[WIDE * Float.BYTES];
      for (int i = 0; i < 100; i++) {
        slow.send(wide);
      }
      await(() -> load().takenEver() > 0 && stages().waiting() + stages().running() == 0);
      StreamStages unread = stages();
      assertThat(unread.sending()).isBetween(1L, 100L).isEqualTo(load().open());
      for (int i = 0; i < 100; i++) {
        assertThat(slow.result().status()).isZero();
      }
      await(() -> stages().open() == 0);
    }
  }

  private static StreamStages stages() {
    try {
      return worker.bean(StreamServer.class).stages();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long inPlace() {
    return worker
        .bean(Engine.class)
        .reports()
        .counters("double")
        .orElseThrow()
        .get(Metric.IN_PLACE_ROWS);
  }

  @Test
  void shouldAnswerMessagesWithTheBitsOfModelInferWhenTheyComeInAnyPieces() throws Exception {
    Random random = new Random(1);
    for (boolean isLocal : List.of(false, true)) {
      try (StreamPeer peer = isLocal ? new StreamPeer(folder.resolve("s")) : connect()) {
        ServerReply reply = peer.greet(hello("double", 64));
        assertThat(reply.status()).isEqualTo(HelloStatus.OK);
        assertThat(reply.spec()).isEqualTo(PAIR);
        assertThat(reply.window()).isEqualTo(64);
        byte[] messages = new byte[64 * 8];
        random.nextBytes(messages);
        for (int at = 0; at < messages.length; ) {
          int end = Math.min(messages.length, at + 1 + random.nextInt(40));
          peer.send(Arrays.copyOfRange(messages, at, end));
          at = end;
        }
        Set<Integer> seen = new HashSet<>();
        for (int i = 0; i < 64; i++) {
          Said result = peer.result();
          assertThat(result.status()).isZero();
          assertThat(seen.add(result.sequence())).isTrue();
          ByteBuffer sent =
              ByteBuffer.wrap(messages, result.sequence() * 8, 8)
                  .slice()
                  .order(ByteOrder.LITTLE_ENDIAN);
          assertThat(result.payload())
              .isEqualTo(ByteBuffer.wrap(answered(sent.getFloat(0), sent.getFloat(4))));
        }
        assertThat(peer.halfClose().isOver()).isTrue();
      }
    }
  }

  /** What ModelInfer says, bit for bit. */
  private static byte[] answered(float... values) {
    ModelInferRequest request = WorkerTest.request("double", 1, values);
    return worker.stub().modelInfer(request).getRawOutputContents(0).toByteArray();
  }

  @Test
  void shouldRunManyMessagesOfOneReadAsOneRequest() throws Exception {
    long requests = load().requestsEver();
    try (StreamPeer peer = connect()) {
      peer.greet(hello("double", 100));
      byte[] all = new byte[96 * 8];
      peer.send(all);
      for (int i = 0; i < 96; i++) {
        assertThat(peer.result().status()).isZero();
      }
    }
    assertThat(load().requestsEver() - requests).isBetween(6L, 12L); // 16 rows fit a program
  }

  @Test
  void shouldServeMessagesThatComeInSeveralReads() throws Exception {
    try (StreamPeer peer = connect()) {
      ServerReply reply = peer.greet(hello("wide", 3));
      assertThat(Objects.requireNonNull(reply.spec()).requestBytes()).isEqualTo(WIDE * 4);
      float[] values = new float[WIDE];
      for (int i = 0; i < 6; i++) {
        Arrays.fill(values, i);
        peer.send(StreamPeer.floats(values));
        if (i >= 2) {
          assertThat(peer.result().floats()).contains(2 * (i - 2)).hasSize(WIDE);
        }
      }
      peer.result();
      peer.result();
      assertThat(peer.halfClose().isOver()).isTrue();
    }
  }

  @Test
  void shouldNotMixTheResultsOf64Connections() throws Exception {
    List<StreamPeer> peers = new ArrayList<>();
    try {
      for (int i = 0; i < 64; i++) {
        peers.add(connect());
        assertThat(peers.get(i).greet(hello("double", 8)).status()).isEqualTo(HelloStatus.OK);
      }
      askInTurns(peers);
    } finally {
      for (StreamPeer peer : peers) {
        peer.close();
      }
    }
  }

  private static void askInTurns(List<StreamPeer> peers) throws IOException {
    for (int turn = 0; turn < 20; turn++) {
      for (int i = 0; i < 64; i++) {
        peers.get(i).send(StreamPeer.floats(i, turn), StreamPeer.floats(turn, -1 - i));
      }
      for (int i = 0; i < 64; i++) {
        for (int message = 0; message < 2; message++) {
          Said result = peers.get(i).result();
          boolean isFirst = result.sequence() % 2 == 0;
          assertThat(result.floats())
              .containsExactly(isFirst ? 2f * i : 2f * turn, isFirst ? 2f * turn : -2f - 2 * i);
        }
      }
    }
  }

  @Test
  void shouldAnswerInOrderAndTellOfWhatItTookWhenAsked() throws Exception {
    try (StreamPeer peer = connect()) {
      ServerReply reply =
          peer.greet(wanting(50, StreamOption.IN_ORDER, StreamOption.ACCEPT_NOTICES));
      assertThat(reply.options())
          .containsExactlyInAnyOrder(StreamOption.IN_ORDER, StreamOption.ACCEPT_NOTICES);
      GATE.shut();
      peer.send(new byte[50 * 8]);
      int accepted = 0;
      while (accepted < 50) {
        Said notice = peer.next();
        assertThat(notice.kind()).isEqualTo(RecordKind.ACCEPTED);
        accepted += notice.header().accepted();
      }
      assertThat(accepted).isEqualTo(50);
      GATE.open();
      for (int i = 0; i < 50; i++) {
        assertThat(peer.result().sequence()).isEqualTo(i);
      }
    }
  }

  @Test
  void shouldEndWhatIsOverByItsBudgetAndServeTheRest() throws Exception {
    try (StreamPeer peer = connect()) {
      peer.greet(wanting(10, StreamOption.DEADLINE, StreamOption.IN_ORDER));
      peer.send(budget(0), StreamPeer.floats(1, 2), budget(-1), StreamPeer.floats(3, 4));
      peer.send(budget(60_000_000), StreamPeer.floats(5, 6));
      Said late = peer.result();
      assertThat(late.status()).as(late.text()).isEqualTo(4);
      assertThat(peer.result().floats()).containsExactly(6, 8);
      assertThat(peer.result().floats()).containsExactly(10, 12);
    }
  }

  private static byte[] budget(int micros) {
    return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(micros).array();
  }

  @Test
  void shouldRefuseDamagedMessagesAloneWhenTheyHaveChecksums() throws Exception {
    try (StreamPeer peer = connect()) {
      peer.greet(wanting(10, StreamOption.CHECKSUM, StreamOption.IN_ORDER));
      for (int i = 0; i < 3; i++) {
        byte[] message = StreamPeer.floats(i, i);
        CRC32C checksum = new CRC32C();
        checksum.update(message);
        byte[] sum = budget((int) checksum.getValue() ^ (i == 1 ? 1 : 0));
        peer.send(message, sum);
      }
      assertThat(peer.result().floats()).containsExactly(0, 0);
      Said damaged = peer.result();
      assertThat(damaged.status()).isEqualTo(3);
      assertThat(damaged.text()).contains("CRC-32C");
      assertThat(peer.result().floats()).containsExactly(4, 4);
    }
  }

  /** The bytes that the document shows. */
  @Test
  void shouldTakeAndSayTheBytesOfTheDocument() throws Exception {
    String document = Files.readString(Path.of("../docs/tstream.md"));
    String[] blocks = document.substring(document.indexOf("## Examples in bytes")).split("```");
    byte[] hello = bytes(blocks[1]);
    assertThat(ClientHello.of("double", PAIR, 8).encoded()).isEqualTo(hello);
    String[] lines = blocks[3].strip().split("\n");
    try (StreamPeer peer = connect()) {
      peer.send(hello, bytes(lines[0]));
      assertThat(peer.reply().status()).isEqualTo(HelloStatus.OK);
      byte[] result = bytes(lines[1]);
      assertThat(peer.next().payload()).isEqualTo(ByteBuffer.wrap(result, 8, 8));
      assertThat(Arrays.copyOf(result, 8)).containsExactly(0, 0, 0, 0, 0, 0, 1, 0);
    }
  }

  private static byte[] bytes(String hex) {
    return HexFormat.of().parseHex(hex.replaceAll("\\s", ""));
  }

  // --- hellos

  @Test
  void shouldRefuseByNameWhatAHelloSaysOfTheModel() throws Exception {
    StreamSpec ints = new StreamSpec(List.of(pair("x", DType.I32)), PAIR.outputs());
    StreamSpec other = new StreamSpec(List.of(pair("z", DType.F32)), PAIR.outputs());
    assertRefused(
        ClientHello.of("double", ints, 4),
        HelloStatus.OTHER_SPEC,
        "input 0 of model 'double' is 'x' FP32 [1,2], and the client has 'x' INT32 [1,2]");
    assertRefused(ClientHello.of("double", other, 4), HelloStatus.OTHER_SPEC, "'z'");
    assertRefused(hello("none", 4), HelloStatus.NO_SUCH_MODEL, "none");
    assertRefused(hello("", 4), HelloStatus.BAD_HELLO, "names no model");
    assertRefused(hello("double", 0), HelloStatus.BAD_HELLO, "a window of 0 messages");
    assertRefused(hello("double", 1 << 31), HelloStatus.BAD_HELLO, "2147483648 messages");
    assertRefused(of("double", "7", "", 1, 0), HelloStatus.NO_SUCH_MODEL, "version 7");
    assertRefused(of("double", "x", "", 1, 0), HelloStatus.BAD_HELLO, "version");
    assertRefused(of("double", "", "T=4", 1, 0), HelloStatus.NO_SUCH_MODEL, "no variant 'T=4'");
    assertRefused(of("double", "", "", 0, 0), HelloStatus.BAD_HELLO, "0 rows a message");
    assertRefused(of("double", "", "", 1, 5), HelloStatus.OTHER_SPEC, "0000000000000005");
    assertRefused(
        new ClientHello(2, 9, Set.of(), 4, 1, 0, "double", "", "", "", "", "", null),
        HelloStatus.BAD_HELLO,
        "versions 2 to 9");
  }

  private static ClientHello of(
      String model, String version, String variant, int rows, long digest) {
    return new ClientHello(
        1, 1, Set.of(), 4, rows, digest, model, version, variant, "", "", "", null);
  }

  private static void assertRefused(ClientHello hello, HelloStatus status, String text)
      throws IOException {
    try (StreamPeer peer = connect()) {
      ServerReply reply = peer.greet(hello);
      assertThat(reply.status()).as(reply.text()).isEqualTo(status);
      assertThat(reply.text()).contains(text);
      assertThat(peer.isOver()).isTrue();
    }
  }

  @Test
  void shouldGrantAtMostTheLargestWindowAndTakeTheDigestForTheSpec() throws Exception {
    try (StreamPeer peer = connect()) {
      ServerReply reply =
          peer.greet(
              new ClientHello(
                  1, 1, Set.of(), Integer.MAX_VALUE, 3, 0, "double", "1", "", "", "", "", null));
      assertThat(reply.window()).isEqualTo(1000);
      assertThat(reply.options()).isEmpty();
      assertThat(Objects.requireNonNull(reply.spec()).inputs().getFirst().shape())
          .isEqualTo(Shape.of(3, 2));
      peer.send(StreamPeer.floats(1, 2, 3, 4, 5, 6));
      assertThat(peer.result().floats()).containsExactly(2, 4, 6, 8, 10, 12);
    }
    try (StreamPeer peer = connect()) {
      assertThat(peer.greet(of("double", "", "", 1, PAIR.digest())).status())
          .isEqualTo(HelloStatus.OK);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "TSRX"})
  void shouldSayThatItSpeaksNothingElse(String bytes) throws Exception {
    try (StreamPeer peer = connect()) {
      peer.send(bytes.getBytes(StandardCharsets.ISO_8859_1));
      ServerReply reply = peer.reply();
      assertThat(reply.status()).isEqualTo(HelloStatus.BAD_HELLO);
      assertThat(reply.text()).contains("speaks TSTREAM");
      assertThat(peer.isOver()).isTrue();
    }
  }

  @Test
  void shouldTakeAHelloByteByByteAndMessagesRightBehindIt() throws Exception {
    byte[] hello = ClientHello.of("double", PAIR, 8).encoded();
    try (StreamPeer peer = connect()) {
      for (byte each : hello) {
        peer.send(new byte[] {each});
      }
      assertThat(peer.reply().status()).isEqualTo(HelloStatus.OK);
    }
    try (StreamPeer peer = connect()) {
      byte[] both = Arrays.copyOf(hello, hello.length + 16);
      peer.send(both);
      assertThat(peer.reply().status()).isEqualTo(HelloStatus.OK);
      peer.result();
      peer.result();
    }
  }

  @Test
  void shouldBeUnaffectedByHellosThatAreCutAnywhere() throws Exception {
    byte[] hello = ClientHello.of("double", PAIR, 8).encoded();
    for (int length = 0; length < hello.length; length++) {
      try (StreamPeer peer = connect()) {
        assertThat(peer.send(Arrays.copyOf(hello, length)).halfClose().isOver()).isTrue();
      }
    }
  }

  @Test
  void shouldAnswerEveryHelloThatIsWrongInOneByte() throws Exception {
    byte[] hello = ClientHello.of("double", PAIR, 8).encoded();
    for (int at = 0; at < hello.length; at++) {
      byte[] wrong = hello.clone();
      wrong[at] ^= (byte) 0x81;
      try (StreamPeer peer = connect()) {
        peer.send(wrong).halfClose();
        try {
          peer.reply();
        } catch (EOFException e) {
          assertThat(at).as("a length that is too large").isBetween(8, 11);
        }
      }
    }
  }

  @Test
  void shouldEndWhoSaysNoHello() throws Exception {
    long before = load().endedEver(End.HANDSHAKE);
    try (StreamPeer peer = connect()) {
      ServerReply reply = peer.reply();
      assertThat(reply.text()).contains("within 3000 ms");
      assertThat(peer.isOver()).isTrue();
    }
    assertThat(load().endedEver(End.HANDSHAKE) - before).isEqualTo(1);
  }

  // --- messages that are wrong

  @Test
  void shouldEndWhoSendsMoreThanItsWindow() throws Exception {
    GATE.shut();
    try (StreamPeer peer = connect()) {
      peer.greet(hello("double", 4));
      peer.send(new byte[4 * 8]);
      await(() -> load().open() == 4);
      peer.send(new byte[8]);
      Said last = peer.next();
      assertThat(last.kind()).isEqualTo(RecordKind.CLOSED);
      assertThat(last.text()).contains("4 messages are under way").contains("the window is 4");
      GATE.open();
      for (int i = 0; i < 4; i++) {
        assertThat(peer.result().status()).isZero(); // what was taken is answered
      }
      assertThat(peer.isOver()).isTrue();
    }
  }

  @Test
  void shouldSayHowManyBytesAreMissingWhenAClientEndsInAMessage() throws Exception {
    long before = load().endedEver(End.TRUNCATED);
    for (int length = 1; length < 8; length++) {
      try (StreamPeer peer = connect()) {
        peer.greet(hello("double", 4));
        peer.send(StreamPeer.floats(1, 2), new byte[length]).halfClose();
        Said first = peer.next();
        Said second = peer.next();
        Said closed = first.kind() == RecordKind.CLOSED ? first : second;
        assertThat(closed.text())
            .contains(
                "in the middle of message 1: %d of 8 bytes are missing".formatted(8 - length));
        assertThat(peer.isOver()).isTrue();
      }
    }
    assertThat(load().endedEver(End.TRUNCATED) - before).isEqualTo(7);
  }

  @Test
  void shouldEndWhoStopsInAMessageAndServeOthersMeanwhile() throws Exception {
    try (StreamPeer frozen = connect();
        StreamPeer other = connect()) {
      frozen.greet(hello("wide", 1));
      frozen.send(new byte[100]);
      other.greet(hello("double", 1));
      for (int i = 0; i < 100; i++) {
        other.send(StreamPeer.floats(i, i));
        assertThat(other.result().floats()).containsExactly(2 * i, 2 * i);
      }
      Said last = frozen.next();
      assertThat(last.kind()).isEqualTo(RecordKind.CLOSED);
      assertThat(last.status()).isEqualTo(4);
      assertThat(last.text())
          .contains("%d of %d bytes are missing".formatted(WIDE * 4 - 100, WIDE * 4));
    }
  }

  @Test
  void shouldTakeBackWhatWaitsWhenAClientGoesAway() throws Exception {
    GATE.shut();
    try (StreamPeer peer = connect()) {
      peer.greet(hello("double", 100));
      peer.send(new byte[100 * 8]);
      await(() -> load().open() == 100);
      peer.abort();
    }
    await(() -> load().connections() == 0);
    GATE.open();
    await(() -> load().open() == 0 && worker.bean(Engine.class).openRequests() == 0);
  }

  @Test
  void shouldLeaveATokenOfItsOwnToWhoeverReadsTheLog(CapturedOutput output) throws Exception {
    try (StreamPeer peer = connect()) {
      peer.greet(new ClientHello(1, 1, Set.of(), 4, 1, 0, "no", "", "", "secret!", "", "", null));
    }
    assertThat(output).doesNotContain("secret!");
  }
}
