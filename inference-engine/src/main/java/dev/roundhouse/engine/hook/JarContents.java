package dev.roundhouse.engine.hook;

import dev.roundhouse.bundle.error.BundleException;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.security.CodeSigner;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.cert.Certificate;
import java.security.cert.CertificateEncodingException;
import java.util.Collections;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarInputStream;
import org.jspecify.annotations.Nullable;

/** The files of a bundle's jar, in memory, and who has signed them. */
final class JarContents {
  private static final long MOST_BYTES = 256L << 20;
  private static final int MOST_FILES = 50_000;

  private final String where;
  private final Map<String, byte[]> files = new HashMap<>();
  private final Map<String, Set<String>> signers = new HashMap<>();

  private JarContents(String where) {
    this.where = where;
  }

  /**
   * @throws BundleException when it is no jar, is too large, or a signature is broken
   */
  static JarContents read(byte[] jar, String where) {
    JarContents contents = new JarContents(where);
    try (JarInputStream in = new JarInputStream(new ByteArrayInputStream(jar), true)) {
      long total = 0;
      byte[] buffer = new byte[8192];
      for (JarEntry entry = in.getNextJarEntry(); entry != null; entry = in.getNextJarEntry()) {
        if (entry.isDirectory()) {
          continue;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (int read = in.read(buffer); read > 0; read = in.read(buffer)) {
          total += read;
          if (total > MOST_BYTES || contents.files.size() == MOST_FILES) {
            throw new BundleException(
                where,
                "holds more than %d bytes or %d files; put data into files of the bundle"
                    .formatted(MOST_BYTES, MOST_FILES));
          }
          bytes.write(buffer, 0, read);
        }
        contents.files.put(entry.getName(), bytes.toByteArray());
        contents.signers.put(entry.getName(), fingerprints(entry.getCodeSigners()));
      }
    } catch (IOException | SecurityException e) {
      throw new BundleException(where, "is no jar that can be read: " + e.getMessage(), e);
    }
    if (contents.files.isEmpty()) {
      throw new BundleException(where, "is no jar, or is empty");
    }
    return contents;
  }

  Map<String, byte[]> files() {
    return Collections.unmodifiableMap(files);
  }

  /**
   * Refuses unless one of the signers has signed every file.
   *
   * @param trusted sha256 of their certificates
   * @param settings where an operator names them
   */
  void requireSignedBy(Set<String> trusted, String settings) {
    for (Map.Entry<String, Set<String>> file : signers.entrySet()) {
      if (isOfTheSignature(file.getKey())) {
        continue;
      }
      Set<String> by = file.getValue();
      if (by.isEmpty()) {
        throw new BundleException(
            where,
            "is not signed ('%s'), and %s.mode is jars-signed-by; sign it with jarsigner, or set that to allow"
                .formatted(file.getKey(), settings));
      }
      if (Collections.disjoint(by, trusted)) {
        throw new BundleException(
            where,
            "is signed by %s ('%s'), and %s.signers does not name that"
                .formatted(by, file.getKey(), settings));
      }
    }
  }

  private static boolean isOfTheSignature(String file) {
    String name = file.startsWith("META-INF/") ? file.substring("META-INF/".length()) : "/";
    return !name.contains("/")
        && (name.equals("MANIFEST.MF") || name.matches(".*\\.(SF|RSA|DSA|EC)"));
  }

  private static Set<String> fingerprints(CodeSigner @Nullable [] signers) {
    Set<String> found = new TreeSet<>();
    if (signers != null) {
      for (CodeSigner signer : signers) {
        found.add(sha256(signer.getSignerCertPath().getCertificates().getFirst()));
      }
    }
    return found;
  }

  private static String sha256(Certificate certificate) {
    try {
      return HexFormat.of()
          .formatHex(MessageDigest.getInstance("SHA-256").digest(certificate.getEncoded()));
    } catch (NoSuchAlgorithmException | CertificateEncodingException e) {
      throw new IllegalStateException(e);
    }
  }
}
