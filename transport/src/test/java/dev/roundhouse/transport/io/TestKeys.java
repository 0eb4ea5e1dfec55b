package dev.roundhouse.transport.io;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Base64;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.TrustManagerFactory;

/**
 * A key and its certificate, which trusts itself and nobody else; for tests of other modules too.
 */
public final class TestKeys {
  private static final String PASSWORD = "password";
  private static final String ALIAS = "test";

  private final Path folder;
  private final KeyStore loaded;

  /**
   * @param host whose certificate it is
   * @param folder where its files are written
   */
  public TestKeys(String host, Path folder)
      throws GeneralSecurityException, IOException, InterruptedException {
    this(host, "DNS:" + host, folder);
  }

  /**
   * @param alternative its subject's alternative name, as keytool takes it
   */
  public TestKeys(String host, String alternative, Path folder)
      throws GeneralSecurityException, IOException, InterruptedException {
    this.folder = folder;
    Process keytool =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                "-genkeypair",
                "-keyalg",
                "EC",
                "-alias",
                ALIAS,
                "-dname",
                "CN=" + host,
                "-ext",
                "SAN=" + alternative,
                "-storetype",
                "PKCS12",
                "-keystore",
                store().toString(),
                "-storepass",
                PASSWORD)
            .inheritIO()
            .start();
    if (!keytool.waitFor(1, TimeUnit.MINUTES) || keytool.exitValue() != 0) {
      keytool.destroyForcibly();
      throw new IOException("keytool has made no key of " + host);
    }
    loaded = KeyStore.getInstance("PKCS12");
    try (InputStream in = Files.newInputStream(store())) {
      loaded.load(in, PASSWORD.toCharArray());
    }
  }

  /** A PKCS12 file with both. */
  public Path store() {
    return folder.resolve("keys.p12");
  }

  /** Of the store. */
  public String password() {
    return PASSWORD;
  }

  /** Who shows the certificate. */
  public KeyManagerFactory identity() throws GeneralSecurityException {
    KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    keys.init(loaded, PASSWORD.toCharArray());
    return keys;
  }

  /** Who trusts the certificate. */
  public TrustManagerFactory trust() throws GeneralSecurityException, IOException {
    KeyStore known = KeyStore.getInstance("PKCS12");
    known.load(null, null);
    known.setCertificateEntry(ALIAS, loaded.getCertificate(ALIAS));
    TrustManagerFactory trusted =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(known);
    return trusted;
  }

  /** Writes the certificate as PEM. */
  public Path certificate() throws GeneralSecurityException, IOException {
    return pem("CERTIFICATE", loaded.getCertificate(ALIAS).getEncoded());
  }

  /** Writes the key as PEM, unencrypted. */
  public Path key() throws GeneralSecurityException, IOException {
    return pem("PRIVATE KEY", loaded.getKey(ALIAS, PASSWORD.toCharArray()).getEncoded());
  }

  private Path pem(String what, byte[] bytes) throws IOException {
    String text =
        "-----BEGIN %s-----\n%s\n-----END %s-----\n"
            .formatted(what, Base64.getMimeEncoder().encodeToString(bytes), what);
    return Files.writeString(folder.resolve(what.replace(' ', '-')), text);
  }
}
