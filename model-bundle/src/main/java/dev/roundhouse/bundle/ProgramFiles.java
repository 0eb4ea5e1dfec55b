package dev.roundhouse.bundle;

import dev.roundhouse.bundle.error.BundleException;
import dev.roundhouse.bundle.model.ModelSpec;
import dev.roundhouse.bundle.model.Variant;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Which programs a bundle must have and which it has, by the names of its files. */
final class ProgramFiles {
  /** {@code model.mlir}, {@code model.b4.mlir}, {@code model.v0.mlir}, {@code model.v0.b4.mlir}. */
  static final Pattern NAME =
      Pattern.compile("model(?:\\.v(0|[1-9][0-9]{0,5}))?(?:\\.b([1-9][0-9]{0,6}))?\\.mlir");

  private final ModelSpec spec;
  private final Path folder;
  private final boolean hasVariants;
  private final List<ProgramFile> programs = new ArrayList<>();

  private ProgramFiles(ModelSpec spec, Path folder) {
    this.spec = spec;
    this.folder = folder;
    this.hasVariants = !spec.variants().equals(List.of(Variant.SINGLE));
  }

  /** Programs by variant, then batch size. */
  static List<ProgramFile> of(
      ModelSpec spec, Path folder, BundleFiles files, Optional<Map<String, String>> digests) {
    ProgramFiles found = new ProgramFiles(spec, folder);
    files.all().forEach((name, path) -> found.add(name, path, digests));
    for (int variant = 0; variant < spec.variants().size(); variant++) {
      found.checkComplete(variant);
    }
    found.programs.sort(
        Comparator.comparingInt(ProgramFile::variant).thenComparingInt(ProgramFile::batchSize));
    return List.copyOf(found.programs);
  }

  private void add(String name, Path path, Optional<Map<String, String>> digests) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      if (name.endsWith(".mlir") && name.startsWith("model.")) {
        throw new BundleException(
            path.toString(), "is not a program's name; those are model[.v{i}][.b{N}].mlir");
      }
      return;
    }
    boolean named = matcher.group(1) != null;
    if (named != hasVariants) {
      throw new BundleException(
          path.toString(),
          named
              ? "is for a shape variant, but the manifest has none"
              : "names no shape variant, but the manifest has "
                  + spec.variants().size()
                  + "; programs are model.v{i}[.b{N}].mlir");
    }
    int variant = named ? Integer.parseInt(matcher.group(1)) : 0;
    if (variant >= spec.variants().size()) {
      throw new BundleException(
          path.toString(), "is for variant " + variant + " of " + spec.variants().size());
    }
    int batchSize = matcher.group(2) == null ? 0 : Integer.parseInt(matcher.group(2));
    if (batchSize > 1 && !spec.isBatched()) {
      throw new BundleException(
          path.toString(),
          "is compiled for " + batchSize + " rows, but no input of the manifest has a batch axis");
    }
    programs.add(
        new ProgramFile(variant, batchSize, path, digests.map(digest -> digest.get(name))));
  }

  private void checkComplete(int variant) {
    Set<Integer> sizes =
        programs.stream()
            .filter(program -> program.variant() == variant)
            .map(ProgramFile::batchSize)
            .collect(Collectors.toCollection(TreeSet::new));
    String prefix = hasVariants ? "model.v" + variant : "model";
    if (sizes.contains(0) && sizes.size() > 1) {
      throw new BundleException(
          folder.resolve(prefix + ".mlir").toString(),
          "is there beside programs with batch sizes; keep one form");
    }
    // Format 2.0 serves a lone model.mlir at whatever size it was compiled for.
    boolean lonePlain = sizes.contains(0) && spec.formatVersion().equals("2.0");
    for (int size : lonePlain ? List.<Integer>of() : spec.batchSizes()) {
      if (!sizes.contains(size)) {
        throw new BundleException(
            folder.resolve(prefix + ".b" + size + ".mlir").toString(),
            "is missing; the manifest lists batch sizes " + spec.batchSizes());
      }
    }
    if (sizes.isEmpty()) {
      throw new BundleException(
          folder.resolve(prefix + ".mlir").toString(),
          "is missing, and there is no " + prefix + ".b{N}.mlir either");
    }
  }
}
