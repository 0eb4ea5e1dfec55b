package dev.roundhouse.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.roundhouse.client.stream.StreamRefusedException;
import dev.roundhouse.client.stream.StreamResult;
import dev.roundhouse.client.stream.TensorStream;
import dev.roundhouse.engine.testing.TestBundle;
import dev.roundhouse.kserve.tstream.ClientHello;
import dev.roundhouse.kserve.tstream.HelloStatus;
import dev.roundhouse.kserve.tstream.RecordHeader;
import dev.roundhouse.kserve.tstream.ServerReply;
import dev.roundhouse.kserve.tstream.StreamOption;
import dev.roundhouse.platform.config.StartRefusedException;
import dev.roundhouse.transport.io.TestKeys;
import dev.roundhouse.worker.transport.shm.ClientRegions;
import dev.roundhouse.worker.transport.shm.SharedObject;
import dev.roundhouse.worker.transport.tstream.StreamLoad;
import dev.roundhouse.worker.transport.tstream.StreamLoad.End;
import dev.roundhouse.worker.transport.tstream.StreamServer;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tensor streams by TLS. */
@Timeout(120)
class StreamTlsTest {
  @TempDir Path folder;
  private TestKeys keys;
  private @Nullable RunningWorker worker;

  @BeforeEach
  void makeKeys() throws Exception {
    keys = new TestKeys("localhost", made("server"));
  }

  @AfterEach
  void stop() {
    if (worker != null) {
      worker.assertHoldsNothing();
      await(() -> load().connections() == 0);
      worker.close();
    }
  }

  private Path made(String name) throws IOException {
    return Files.createDirectories(folder.resolve(name));
  }

  /**
   * @param trusted of clients' certificates
   */
  private void start(Path trusted, String... more) throws Exception {
    Path repository = made("models");
    TestBundle.doubling(2, 1).write(repository, "double");
    TestBundle.doubling(2, 1).write(repository, "other");
    String pem = "--spring.ssl.bundle.pem.public.";
    List<String> settings =
        new ArrayList<>(
            List.of(
                pem + "keystore.certificate=" + keys.certificate(),
                pem + "keystore.private-key=" + keys.key(),
                pem + "truststore.certificate=" + trusted,
                pem + "reload-on-update=true",
                "--spring.ssl.bundle.watch.file.quiet-period=100ms",
                "--roundhouse.worker.stream.port=0",
                "--roundhouse.worker.stream.address=127.0.0.1",
                "--roundhouse.worker.stream.ssl.bundle=public",
                "--roundhouse.worker.stream.handshake-timeout=2s"));
    settings.addAll(List.of(more));
    worker =
        new RunningWorker(repository, TestBundle.DOUBLE, settings.toArray(String[]::new))
            .awaitLoaded();
  }

  private RunningWorker worker() {
    return Objects.requireNonNull(worker);
  }

  private StreamLoad load() {
    return worker().bean(StreamServer.class).load();
  }

  private static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (!condition.getAsBoolean()) {
      assertThat(System.nanoTime()).as("in time").isLessThan(end);
      Thread.onSpinWait();
    }
  }

  private static SSLContext context(TestKeys trusted, @Nullable KeyManagerFactory shown)
      throws Exception {
    SSLContext context = SSLContext.getInstance("TLS");
    KeyManager[] shows = shown == null ? null : shown.getKeyManagers();
    context.init(shows, trusted.trust().getTrustManagers(), null);
    return context;
  }

  private TensorStream open(String model, SSLContext context) throws IOException {
    return TensorStream.open(
        new InetSocketAddress("localhost", worker().port("stream")),
        ClientHello.of(model, null, 4),
        context);
  }

  private static void assertDoubles(TensorStream stream) throws IOException {
    stream.send(List.of(ByteBuffer.wrap(StreamPeer.floats(1, 2))));
    StreamResult result = stream.receive();
    assertThat(result.status()).as(result.text()).isZero();
    byte[] bytes = new byte[8];
    result.output(0).get(bytes);
    assertThat(bytes).isEqualTo(StreamPeer.floats(2, 4));
  }

  private SSLSocket connect(SSLContext context, String... alpn) throws IOException {
    SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), worker().port("stream"));
    socket.setSoTimeout(60_000);
    SSLParameters parameters = socket.getSSLParameters();
    parameters.setApplicationProtocols(alpn);
    socket.setSSLParameters(parameters);
    return socket;
  }

  @Test
  void shouldStream() throws Exception {
    start(keys.certificate());
    try (TensorStream stream = open("double", context(keys, null))) {
      for (int i = 0; i < 100; i++) {
        assertDoubles(stream);
      }
      assertThatThrownBy(() -> open("absent", context(keys, null)))
          .isInstanceOf(StreamRefusedException.class)
          .hasMessageContaining("'absent'");
    }
  }

  @Test
  void shouldStreamPlacesInSharedMemoryToo() throws Exception {
    start(keys.certificate(), "--roundhouse.worker.shared-memory.enabled=true");
    ClientHello hello =
        new ClientHello(
            1,
            1,
            Set.of(StreamOption.SHARED_MEMORY),
            4,
            1,
            0,
            "double",
            "",
            "",
            "",
            "r",
            "r",
            null);
    ClientRegions regions = worker().bean(ClientRegions.class);
    try (SharedObject object = new SharedObject(64)) {
      regions.register("r", object.key(), 0, 64);
      try (TensorStream stream =
          TensorStream.open(
              new InetSocketAddress("localhost", worker().port("stream")),
              hello,
              context(keys, null),
              Duration.ofMinutes(1))) {
        object.put(0, 1, 2);
        stream.sendPlace(0, 32, null);
        StreamResult result = stream.receive();
        assertThat(result.isOk()).as(result.text()).isTrue();
        assertThat(object.get(32, 2)).containsExactly(2, 4);
      }
      regions.unregister("");
    }
  }

  @Test
  void shouldRefuseAClientThatTrustsAnotherOrSpeaksSomethingElse() throws Exception {
    start(keys.certificate());
    TestKeys others = new TestKeys("localhost", made("others"));
    assertThatThrownBy(() -> open("double", context(others, null)))
        .isInstanceOf(SSLException.class);
    await(() -> load().endedEver(End.TLS) == 1);

    try (SSLSocket client = connect(context(keys, null), "h2", "http/1.1")) {
      assertThatThrownBy(client::startHandshake)
          .isInstanceOfAny(SSLException.class, SocketException.class);
    }
    await(() -> load().endedEver(End.TLS) == 2);
    try (SSLSocket client = connect(context(keys, null))) {
      client.setEnabledProtocols(new String[] {"TLSv1.2"});
      client.setEnabledCipherSuites(
          Stream.of(client.getSupportedCipherSuites())
              .filter(suite -> suite.contains("_CBC_"))
              .toArray(String[]::new));
      assertThatThrownBy(client::startHandshake)
          .isInstanceOfAny(SSLException.class, SocketException.class);
    }
    await(() -> load().endedEver(End.TLS) == 3);
  }

  /** And with any version of TLS; the client sends no more before it reads its result. */
  @ParameterizedTest
  @ValueSource(strings = {"TLSv1.2", "TLSv1.3"})
  void shouldServeAClientThatNamesNoProtocol(String version) throws Exception {
    start(keys.certificate());
    try (SSLSocket client = connect(context(keys, null))) {
      client.setEnabledProtocols(new String[] {version});
      client.getOutputStream().write(ClientHello.of("double", null, 4).encoded());
      InputStream in = client.getInputStream();
      ByteBuffer head = ByteBuffer.wrap(in.readNBytes(ServerReply.HEAD_BYTES));
      in.readNBytes(ServerReply.length(head) - ServerReply.HEAD_BYTES);
      client.getOutputStream().write(StreamPeer.floats(3, 4));
      if (version.equals("TLSv1.3")) { // before it, TLS ends in both directions at once
        client.shutdownOutput();
      }

      in.readNBytes(RecordHeader.BYTES);
      assertThat(in.readNBytes(8)).isEqualTo(StreamPeer.floats(6, 8));
      if (version.equals("TLSv1.3")) {
        assertThat(in.read()).isNegative();
      }
    }
  }

  @Test
  void shouldTellAClientInPlainTextThatThereIsTls() throws Exception {
    start(keys.certificate());
    try (StreamPeer plain = new StreamPeer(worker().port("stream"))) {
      ServerReply reply = plain.greet(ClientHello.of("double", null, 4));
      assertThat(reply.status()).isEqualTo(HelloStatus.BAD_HELLO);
      assertThat(reply.text()).startsWith("this port takes TLS only");
      assertThat(plain.isOver()).isTrue();
    }
    try (Socket other = new Socket(InetAddress.getLoopbackAddress(), worker().port("stream"))) {
      other.setSoTimeout(60_000);
      other.getOutputStream().write("GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
      assertThat(new String(other.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
          .startsWith("TSRM");
    }
    try (Socket eager = new Socket(InetAddress.getLoopbackAddress(), worker().port("stream"))) {
      eager.setSoTimeout(60_000);
      eager.getOutputStream().write(new byte[8 << 20]); // more than the system keeps
      eager.shutdownOutput();
      assertThat(new String(eager.getInputStream().readAllBytes(), StandardCharsets.UTF_8))
          .as("what it is told is not lost with what it has sent")
          .contains("this port takes TLS only");
    }
    assertThat(load().endedEver(End.PLAIN_TEXT)).isEqualTo(3);
    assertThat(worker().get("metrics", "/metrics"))
        .contains("roundhouse_stream_ended_total{reason=\"plain_text\"} 3.0");
  }

  @Test
  void shouldNotWaitForHalfAHandshake() throws Exception {
    start(keys.certificate());
    for (byte[] begin : new byte[][] {{}, {22, 3, 1, 1, 0, 1}}) {
      long before = load().endedEver(End.HANDSHAKE);
      try (Socket silent = new Socket(InetAddress.getLoopbackAddress(), worker().port("stream"))) {
        silent.setSoTimeout(60_000);
        silent.getOutputStream().write(begin);
        assertThat(new String(silent.getInputStream().readAllBytes(), StandardCharsets.ISO_8859_1))
            .as("an alert, or nothing")
            .doesNotContain("TSRM");
      }
      assertThat(load().endedEver(End.HANDSHAKE) - before).isOne();
    }
  }

  @Test
  void shouldKnowClientsByTheirCertificates() throws Exception {
    TestKeys visitor = new TestKeys("visitor.test", made("visitor"));
    TestKeys stranger = new TestKeys("stranger.test", made("stranger"));
    Path trusted =
        Files.writeString(
            folder.resolve("trusted.pem"),
            Files.readString(visitor.certificate()) + Files.readString(stranger.certificate()));
    String of = "--roundhouse.worker.access.";
    start(
        trusted,
        "--roundhouse.worker.stream.ssl.client-auth=optional",
        of + "inference=mtls",
        of + "identities.guest.certificates=dns:visitor.test",
        of + "identities.guest.models=double");
    try (TensorStream stream = open("double", context(keys, visitor.identity()))) {
      assertDoubles(stream);
    }
    for (KeyManagerFactory shown : new KeyManagerFactory[] {null, stranger.identity()}) {
      StreamRefusedException refusal =
          catchThrowableOfType(
              StreamRefusedException.class, () -> open("double", context(keys, shown)).close());
      assertThat(refusal).hasMessageContaining("needs a client certificate");
    }
    StreamRefusedException refusal =
        catchThrowableOfType(
            StreamRefusedException.class,
            () -> open("other", context(keys, visitor.identity())).close());
    assertThat(refusal).hasMessageContaining("'guest' may not use model 'other'");
  }

  @Test
  void shouldRequireACertificateThatIsTrustedAndHasNotExpired() throws Exception {
    List<String> authority =
        List.of(
            "-keystore",
            made("authority").resolve("keys.p12").toString(),
            "-storepass",
            "password");
    Path trusted = made("authority").resolve("certificate");
    keytool(
        authority,
        "-genkeypair",
        "-keyalg",
        "EC",
        "-alias",
        "ca",
        "-dname",
        "CN=ca",
        "-ext",
        "bc:c");
    keytool(authority, "-exportcert", "-rfc", "-alias", "ca", "-file", trusted.toString());
    start(trusted, "--roundhouse.worker.stream.ssl.client-auth=require");
    try (TensorStream stream = open("double", context(keys, signed(authority, "current", "-1d")))) {
      assertDoubles(stream);
    }
    for (KeyManagerFactory shown :
        new KeyManagerFactory[] {
          null, keys.identity(), signed(authority, "expired", "-5d"),
        }) {
      long before = load().endedEver(End.TLS);
      assertThatThrownBy(() -> open("double", context(keys, shown)).close())
          .isInstanceOfAny(SSLException.class, SocketException.class, IOException.class)
          .isNotInstanceOf(StreamRefusedException.class);
      await(() -> load().endedEver(End.TLS) > before);
    }
  }

  /** A key and its certificate by an authority, which is good for three days. */
  private KeyManagerFactory signed(List<String> authority, String name, String from)
      throws Exception {
    Path store = made(name).resolve("keys.p12");
    Path request = made(name).resolve("request");
    Path certificate = made(name).resolve("certificate");
    List<String> own = List.of("-keystore", store.toString(), "-storepass", "password");
    keytool(
        own,
        "-genkeypair",
        "-keyalg",
        "EC",
        "-alias",
        name,
        "-dname",
        "CN=" + name,
        "-storetype",
        "PKCS12");
    keytool(own, "-certreq", "-alias", name, "-file", request.toString());
    keytool(
        authority,
        "-gencert",
        "-alias",
        "ca",
        "-startdate",
        from,
        "-validity",
        "3",
        "-infile",
        request.toString(),
        "-outfile",
        certificate.toString());
    keytool(
        own,
        "-importcert",
        "-noprompt",
        "-alias",
        "ca",
        "-file",
        made("authority").resolve("certificate").toString());
    keytool(own, "-importcert", "-noprompt", "-alias", name, "-file", certificate.toString());
    KeyStore loaded = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      loaded.load(in, "password".toCharArray());
    }
    KeyManagerFactory shown =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    shown.init(loaded, "password".toCharArray());
    return shown;
  }

  private static void keytool(List<String> store, String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(arguments));
    command.addAll(store);
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(process.waitFor()).as(said).isZero();
  }

  @Test
  void shouldShowARenewedCertificateAndGoOnWithOpenStreams() throws Exception {
    start(keys.certificate());
    TestKeys renewed = new TestKeys("localhost", made("renewed"));
    try (TensorStream stream = open("double", context(keys, null))) {
      assertDoubles(stream);
      Files.writeString(keys.certificate(), "nonsense"); // which leaves the one before
      Files.move(renewed.key(), keys.key(), StandardCopyOption.REPLACE_EXISTING);
      Files.move(renewed.certificate(), keys.certificate(), StandardCopyOption.REPLACE_EXISTING);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (true) {
        assertThat(System.nanoTime()).as("in time").isLessThan(end);
        try (TensorStream other = open("double", context(renewed, null))) {
          assertDoubles(other);
          break;
        } catch (SSLException old) {
          TimeUnit.MILLISECONDS.sleep(50);
        }
      }
      assertDoubles(stream);
    }
  }

  @Test
  void shouldEndStreamsWhenItStops() throws Exception {
    start(keys.certificate());
    try (TensorStream stream = open("double", context(keys, null))) {
      assertDoubles(stream);
      stream.send(List.of(ByteBuffer.wrap(StreamPeer.floats(1, 2))));
      assertThat(stream.receive().status()).isZero();
      Thread stopping = Thread.ofPlatform().start(worker()::stop);
      assertThatThrownBy(
              () -> {
                while (true) {
                  stream.send(List.of(ByteBuffer.wrap(StreamPeer.floats(1, 2))));
                  stream.receive();
                }
              })
          .isInstanceOf(IOException.class)
          .isNotInstanceOf(EOFException.class)
          .hasMessageContaining("takes no more messages");
      stopping.join();
    }
    worker = null;
  }

  @Test
  void shouldRefuseSettingsThatMakeNoSense() {
    String ssl = "--roundhouse.worker.stream.ssl.";
    assertRefused("there is no port", "--roundhouse.worker.stream.port=-1", socket());
    assertRefused(
        "bundle is not: plain text has none", ssl + "bundle=", ssl + "client-auth=require");
    assertRefused("cannot use the SSL bundle 'absent'", ssl + "bundle=absent");
  }

  private String socket() {
    return "--roundhouse.worker.stream.socket=" + folder.resolve("s");
  }

  private void assertRefused(String text, String... settings) {
    List<String> last = new ArrayList<>(List.of(settings));
    assertThatThrownBy(() -> startWith(last))
        .satisfies(
            failure -> {
              Throwable cause = failure;
              while (!(cause instanceof StartRefusedException) && cause.getCause() != null) {
                cause = cause.getCause();
              }
              assertThat(cause).isInstanceOf(StartRefusedException.class);
              assertThat(cause).hasMessageContaining(text);
            });
  }

  private void startWith(List<String> settings) throws Exception {
    List<String> all =
        new ArrayList<>(
            List.of(
                "--spring.ssl.bundle.pem.public.keystore.certificate=" + keys.certificate(),
                "--spring.ssl.bundle.pem.public.keystore.private-key=" + keys.key()));
    for (String each :
        List.of(
            "--roundhouse.worker.stream.port=0",
            "--roundhouse.worker.stream.address=127.0.0.1",
            "--roundhouse.worker.stream.ssl.bundle=public")) {
      String key = each.substring(0, each.indexOf('=') + 1);
      if (settings.stream().noneMatch(set -> set.startsWith(key))) {
        all.add(each);
      }
    }
    all.addAll(settings);
    new RunningWorker(made("models"), TestBundle.DOUBLE, all.toArray(String[]::new)).close();
  }
}
