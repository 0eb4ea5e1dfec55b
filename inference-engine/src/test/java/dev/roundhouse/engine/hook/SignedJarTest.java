package dev.roundhouse.engine.hook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.bundle.error.BundleException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.zip.ZipFile;
import jdk.security.jarsigner.JarSigner;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whose signatures are taken for those of a jar. */
class SignedJarTest {
  private static final char[] PASSWORD = "changeit".toCharArray();

  @TempDir Path folder;

  private KeyStore.PrivateKeyEntry author;

  @BeforeEach
  void makeAKey() throws Exception {
    author = key("author");
  }

  @Test
  void shouldTakeWhatATrustedSignerHasSigned() throws Exception {
    byte[] jar = signed(jar(Map.of("a/B.class", "code")), author);
    String fingerprint = fingerprint(author);
    assertThatCode(() -> check(jar, Set.of("00", fingerprint))).doesNotThrowAnyException();
    assertThatThrownBy(() -> check(jar, Set.of("00")))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("is signed by [" + fingerprint + "]")
        .hasMessageContaining("hooks.signers does not name that");
  }

  @Test
  void shouldRefuseAFileThatWasAddedOrChangedAfterTheSignature() throws Exception {
    byte[] jar = signed(jar(Map.of("a/B.class", "code")), author);
    Set<String> trusted = Set.of(fingerprint(author));
    assertThatThrownBy(() -> check(with(jar, "a/C.class", "more"), trusted))
        .hasMessageContaining("is not signed ('a/C.class')");
    assertThatThrownBy(() -> check(with(jar, "META-INF/services/x", "more"), trusted))
        .hasMessageContaining("is not signed ('META-INF/services/x')");
    assertThatThrownBy(() -> check(with(jar, "a/B.class", "other"), trusted))
        .isInstanceOf(BundleException.class)
        .hasMessageContaining("is no jar that can be read");
  }

  private static void check(byte[] jar, Set<String> trusted) {
    JarContents.read(jar, "model.jar").requireSignedBy(trusted, "hooks");
  }

  private static byte[] jar(Map<String, String> files) throws Exception {
    return HookLoadTest.jarOf(
        files.entrySet().stream()
            .collect(
                Collectors.toMap(
                    Map.Entry::getKey, file -> file.getValue().getBytes(StandardCharsets.UTF_8))));
  }

  /** The same jar, one file added or replaced, and what is said of signatures left as it is. */
  private static byte[] with(byte[] jar, String name, String content) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (JarInputStream in = new JarInputStream(new ByteArrayInputStream(jar), false);
        JarOutputStream out = new JarOutputStream(bytes, in.getManifest())) {
      for (JarEntry entry = in.getNextJarEntry(); entry != null; entry = in.getNextJarEntry()) {
        if (!entry.getName().equals(name)) {
          out.putNextEntry(new JarEntry(entry.getName()));
          out.write(in.readAllBytes());
        }
      }
      out.putNextEntry(new JarEntry(name));
      out.write(content.getBytes(StandardCharsets.UTF_8));
    }
    return bytes.toByteArray();
  }

  private byte[] signed(byte[] jar, KeyStore.PrivateKeyEntry by) throws Exception {
    Path file = Files.write(folder.resolve("plain.jar"), jar);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (ZipFile plain = new ZipFile(file.toFile())) {
      new JarSigner.Builder(by).build().sign(plain, out);
    }
    return out.toByteArray();
  }

  private static String fingerprint(KeyStore.PrivateKeyEntry key) throws Exception {
    return HexFormat.of()
        .formatHex(MessageDigest.getInstance("SHA-256").digest(key.getCertificate().getEncoded()));
  }

  /** Java makes certificates by its tool alone. */
  private KeyStore.PrivateKeyEntry key(String alias) throws Exception {
    Path store = folder.resolve(alias + ".p12");
    Process keytool =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-genkeypair",
                    "-alias",
                    alias,
                    "-keyalg",
                    "EC",
                    "-dname",
                    "CN=" + alias,
                    "-storetype",
                    "PKCS12",
                    "-keystore",
                    store.toString(),
                    "-storepass",
                    new String(PASSWORD)))
            .redirectErrorStream(true)
            .start();
    String said = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(said).isZero();
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store)) {
      keys.load(in, PASSWORD);
    }
    return (KeyStore.PrivateKeyEntry)
        keys.getEntry(alias, new KeyStore.PasswordProtection(PASSWORD));
  }
}
