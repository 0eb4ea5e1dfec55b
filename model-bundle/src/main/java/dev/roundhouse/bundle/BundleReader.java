package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.manifest.Manifest;
import dev.roundhouse.bundle.manifest.ManifestReader;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.ModelSpec.Kind;
import dev.roundhouse.bundle.weights.AxisOrder;
import dev.roundhouse.bundle.weights.WeightsFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Reads a folder into a {@link Bundle}, or says why not, naming the file. */
public final class BundleReader {
  static final String MANIFEST = "manifest.yaml";
  static final String WEIGHTS = "weights.safetensors";
  private static final String SOURCE = "Model.java";
  private static final String JAR = "model.jar";
  private static final String JULIA = "model.jl";

  private BundleReader() {}

  /** True when the folder claims to be a bundle: it has a {@code manifest.yaml}. */
  public static boolean isBundle(Path directory) {
    return Files.exists(directory.resolve(MANIFEST), LinkOption.NOFOLLOW_LINKS);
  }

  /**
   * Reads a bundle named for its folder. The caller owns the result and closes it. Digests of all
   * files but the weights are checked; the weights' is checked on the copies that are used.
   *
   * @throws BundleException naming the file at fault and why
   */
  public static Bundle read(Path directory) {
    Path folder = directory.toAbsolutePath().normalize();
    return read(folder, String.valueOf(folder.getFileName()));
  }

  /** As {@link #read(Path)}, for a version's folder, which is not the one that names the model. */
  public static Bundle read(Path directory, String modelName) {
    return read(directory, modelName, LinkRoots.NONE);
  }

  /** As {@link #read(Path, String)}, of a bundle whose links may point into some folders. */
  public static Bundle read(Path directory, String modelName, LinkRoots roots) {
    Path folder = real(directory);
    if (!isBundle(folder)) {
      throw noBundle(folder);
    }
    BundleFiles files = BundleFiles.list(folder, roots);
    Path manifestFile = files.find(MANIFEST).orElse(folder.resolve(MANIFEST));
    Manifest manifest = ManifestReader.read(manifestFile, modelName);
    manifest.digests().ifPresent(files::check);
    Map<String, String> digests = manifest.digests().orElse(Map.of());
    AssetFiles assets = new AssetFiles(folder, files, digests);
    ModelSpec labelled = new LabelFiles(assets).readInto(manifest.spec());
    ModelSpec spec = new StateFiles(assets).readInto(labelled);
    Glue glue = glue(folder, files, spec);
    if (spec.kind() != Kind.MODEL) {
      return new Bundle(folder, spec, List.of(), null, glue, files, digests);
    }
    List<ProgramChoice> programs = ProgramFiles.of(spec, folder, files, manifest.digests());
    AxisOrder order = spec.formatVersion().equals("3") ? AxisOrder.ROW_MAJOR : AxisOrder.REVERSED;
    WeightsFile weights =
        WeightsFile.open(
            files.find(WEIGHTS).orElse(folder.resolve(WEIGHTS)),
            order,
            Optional.ofNullable(digests.get(WEIGHTS)));
    return new Bundle(
        folder, withBatchSizes(spec, programs), programs, weights, glue, files, digests);
  }

  /**
   * The folder itself may be a link, as used to promote models; links inside it may point where the
   * operator allows.
   */
  private static Path real(Path directory) {
    try {
      return directory.toRealPath();
    } catch (IOException e) {
      throw BundleException.inaccessible(directory, "cannot be found", e);
    }
  }

  private static BundleException noBundle(Path folder) {
    if (!ConversionRefusal.isIn(folder)) {
      return new BundleException(
          folder.toString(), Misplaced.in(folder).orElse("is no bundle: it has no " + MANIFEST));
    }
    Path file = folder.resolve(ConversionRefusal.FILE);
    return ConversionRefusal.read(
        BundleFiles.list(folder, LinkRoots.NONE).find(ConversionRefusal.FILE).orElse(file));
  }

  /** Names that mean something to us, which a folder must not bear. */
  static boolean isReserved(String name) {
    return List.of(MANIFEST, WEIGHTS, SOURCE, JAR, JULIA).contains(name)
        || ProgramFiles.NAME.matcher(name).matches();
  }

  private static Glue glue(Path folder, BundleFiles files, ModelSpec spec) {
    boolean source = files.has(SOURCE);
    boolean jar = files.has(JAR);
    if (source && jar) {
      throw new BundleException(
          folder.resolve(JAR).toString(), "is there beside " + SOURCE + "; keep one of them");
    }
    if (files.has(JULIA) && !source && !jar) {
      throw new BundleException(
          folder.resolve(JULIA).toString(),
          "holds hooks in Julia, which this server does not run; write them in Java, or serve the programs as a bundle without hooks");
    }
    Glue glue = source ? Glue.JAVA_SOURCE : jar ? Glue.JAR : Glue.NONE;
    if (spec.kind() == Kind.ENSEMBLE) {
      if (glue != Glue.NONE) {
        throw new BundleException(
            folder.resolve(source ? SOURCE : JAR).toString(),
            "is there, and an ensemble has no code; leave it out, or make it a meta");
      }
      return glue;
    }
    if (glue == Glue.NONE && spec.decoupled() && spec.kind() == Kind.MODEL) {
      throw new BundleException(
          folder.resolve(MANIFEST).toString(),
          "says decoupled: true, but a program answers once: only hooks answer in parts, and there is neither Model.java nor model.jar; add one or leave decoupled out");
    }
    if (glue == Glue.NONE && (spec.client().isPresent() || spec.kind() == Kind.META)) {
      throw new BundleException(
          folder.resolve(MANIFEST).toString(),
          (spec.kind() == Kind.META ? "is of kind meta" : "has client_inputs and client_outputs")
              + ", which needs hooks, and there is neither Model.java nor model.jar");
    }
    return glue;
  }

  private static ModelSpec withBatchSizes(ModelSpec spec, List<ProgramChoice> programs) {
    List<Integer> sizes =
        programs.stream()
            .map(program -> program.general().batchSize())
            .filter(size -> size > 0)
            .toList();
    return spec.withBatchSizes(sizes);
  }
}
