package dev.roundhouse.engine.model;

import dev.roundhouse.bundle.BundleFingerprint;
import dev.roundhouse.bundle.ModelFolder;
import dev.roundhouse.bundle.VersionPolicy;
import dev.roundhouse.bundle.error.BundleException;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A version that is to serve, and what it can be built of. */
sealed interface Candidate {

  /** Decimal. */
  String version();

  /** Of its files as they are now; empty when there are none, or they cannot be looked at. */
  String fingerprint();

  /**
   * Builds it; the caller owns the result.
   *
   * @param fingerprint as it was before
   */
  Servable build(ModelBuilder builder, String fingerprint);

  /**
   * Whether its files are not those that they were, or not there: they are being replaced.
   *
   * @param fingerprint as it was before
   */
  default boolean isOther(String fingerprint) {
    return false;
  }

  /** What a policy selects in a model's folder; at least one. */
  static List<Candidate> in(Path folder, VersionPolicy policy) {
    String name = folder.getFileName().toString();
    List<ModelFolder.Version> versions;
    try {
      versions = ModelFolder.versions(folder);
    } catch (BundleException e) {
      return List.of(new Unreadable("1", e));
    }
    if (versions.isEmpty()) {
      return List.of(new Files(name, "1", folder)); // reading it says what is missing
    }
    List<Candidate> candidates = new ArrayList<>();
    for (ModelFolder.Version version : policy.select(folder, versions)) {
      candidates.add(new Files(name, Long.toString(version.number()), version.directory()));
    }
    return candidates;
  }

  /** A bundle in a folder. */
  record Files(String name, String version, Path directory) implements Candidate {
    @Override
    public String fingerprint() {
      try {
        return BundleFingerprint.of(directory);
      } catch (IOException e) {
        return ""; // building it says why
      }
    }

    @Override
    public Servable build(ModelBuilder builder, String fingerprint) {
      return builder.build(name, version, directory, fingerprint);
    }

    @Override
    public boolean isOther(String fingerprint) {
      return java.nio.file.Files.notExists(directory) || !fingerprint().equals(fingerprint);
    }
  }

  /** What has been read already. */
  record Image(ModelImage image) implements Candidate {
    @Override
    public String version() {
      return image.version();
    }

    @Override
    public String fingerprint() {
      return "";
    }

    @Override
    public Servable build(ModelBuilder builder, String fingerprint) {
      return builder.build(image, fingerprint);
    }
  }

  /** What has been read already, and code that stands before it. */
  record Coded(ModelImage image, ModelCode.Read code) implements Candidate {
    @Override
    public String version() {
      return image.version();
    }

    @Override
    public String fingerprint() {
      return "";
    }

    @Override
    public Servable build(ModelBuilder builder, String fingerprint) {
      return builder.build(image, fingerprint, code);
    }
  }

  /** What is made already, and calls others. */
  record Composed(ComposedModel model) implements Candidate {
    @Override
    public String version() {
      return model.version();
    }

    @Override
    public String fingerprint() {
      return "";
    }

    @Override
    public Servable build(ModelBuilder builder, String fingerprint) {
      return model;
    }
  }

  /** A folder that cannot be read, and why. */
  record Unreadable(String version, BundleException why) implements Candidate {
    @Override
    public String fingerprint() {
      return "";
    }

    @Override
    public Servable build(ModelBuilder builder, String fingerprint) {
      throw why;
    }

    @Override
    public boolean isOther(String fingerprint) {
      return why.getCause() instanceof NoSuchFileException;
    }
  }
}
