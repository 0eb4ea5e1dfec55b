package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.weights.WeightsFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A complete bundle, its weights file open. Immutable; any thread may read until {@link #close},
 * which closes that file.
 */
public final class Bundle implements AutoCloseable {
  private final Path directory;
  private final ModelSpec spec;
  private final List<ProgramChoice> programs;
  private final @Nullable WeightsFile weights;
  private final Glue glue;
  private final BundleFiles files;
  private final Map<String, String> digests;

  Bundle(
      Path directory,
      ModelSpec spec,
      List<ProgramChoice> programs,
      @Nullable WeightsFile weights,
      Glue glue,
      BundleFiles files,
      Map<String, String> digests) {
    this.directory = directory;
    this.spec = spec;
    this.programs = programs;
    this.weights = weights;
    this.glue = glue;
    this.files = files;
    this.digests = digests;
  }

  public String name() {
    return spec.name();
  }

  public Path directory() {
    return directory;
  }

  /** The contract; its batch sizes are those that have programs. */
  public ModelSpec spec() {
    return spec;
  }

  /**
   * What to run on a platform, by variant, then batch size: its own programs where there are such,
   * else those for every platform. Empty for a meta.
   *
   * @param platform as its plugin calls itself, such as {@code cpu} or {@code cuda}
   */
  public List<ProgramFile> programs(String platform) {
    return programs.stream().map(program -> program.on(platform)).toList();
  }

  /**
   * @throws IllegalStateException for a meta, which has none
   */
  public WeightsFile weights() {
    if (weights == null) {
      throw new IllegalStateException("'" + name() + "' is a meta; it has no weights");
    }
    return weights;
  }

  public Glue glue() {
    return glue;
  }

  /**
   * Where another file of the bundle lies.
   *
   * @param file name inside the bundle, as the manifest writes it
   * @throws BundleException when there is no such file
   */
  public Path file(String file) {
    return files
        .find(file)
        .orElseThrow(() -> new BundleException(directory.toString(), "has no file '" + file + "'"));
  }

  /**
   * Reads another file of the bundle, such as glue; its digest is checked on the bytes returned.
   *
   * @param file name inside the bundle, as the manifest writes it
   * @throws BundleException when there is no such file or its digest differs
   */
  public byte[] readFile(String file) {
    Path path = file(file);
    try {
      byte[] bytes = Files.readAllBytes(path);
      Optional.ofNullable(digests.get(file))
          .ifPresent(expected -> Digest.check(path, Digest.of(bytes), expected));
      return bytes;
    } catch (IOException e) {
      throw BundleException.inaccessible(path, "cannot be read", e);
    }
  }

  @Override
  public void close() {
    if (weights != null) {
      weights.close();
    }
  }
}
