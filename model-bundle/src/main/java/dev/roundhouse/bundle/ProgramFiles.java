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
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Which programs a bundle must have and which it has, by the names of its files. */
final class ProgramFiles {
  /**
   * {@code model.mlir}, {@code model.b4.mlir}, {@code model.v0.mlir}, {@code model.v0.b4.mlir}, and
   * each with a platform: {@code model.b4.cpu.mlir}. A platform is not named like a size or
   * variant.
   */
  static final Pattern NAME =
      Pattern.compile(
          "model(?:\\.v(0|[1-9][0-9]{0,5}))?(?:\\.b([1-9][0-9]{0,6}))?"
              + "(?:\\.((?![vb][0-9])[A-Za-z][A-Za-z0-9_-]*))?\\.mlir");

  private final ModelSpec spec;
  private final Path folder;
  private final boolean hasVariants;
  private final List<ProgramFile> programs = new ArrayList<>();

  /** By the name of the file that they take the place of, then platform. */
  private final Map<String, Map<String, ProgramFile>> own = new TreeMap<>();

  private ProgramFiles(ModelSpec spec, Path folder) {
    this.spec = spec;
    this.folder = folder;
    this.hasVariants = !spec.variants().equals(List.of(Variant.SINGLE));
  }

  /** Programs by variant, then batch size. */
  static List<ProgramChoice> of(
      ModelSpec spec, Path folder, BundleFiles files, Optional<Map<String, String>> digests) {
    ProgramFiles found = new ProgramFiles(spec, folder);
    files.all().forEach((name, path) -> found.add(name, path, digests));
    found.checkGeneral(files);
    for (int variant = 0; variant < spec.variants().size(); variant++) {
      found.checkComplete(variant);
    }
    found.programs.sort(
        Comparator.comparingInt(ProgramFile::variant).thenComparingInt(ProgramFile::batchSize));
    return found.programs.stream()
        .map(each -> new ProgramChoice(each, found.own.getOrDefault(each.name(), Map.of())))
        .toList();
  }

  private void add(String name, Path path, Optional<Map<String, String>> digests) {
    Matcher matcher = NAME.matcher(name);
    if (!matcher.matches()) {
      if (name.endsWith(".mlir") && name.startsWith("model.")) {
        throw new BundleException(
            path.toString(),
            "is not a program's name; those are model[.v{i}][.b{N}][.{platform}].mlir");
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
    ProgramFile program =
        new ProgramFile(variant, batchSize, path, digests.map(digest -> digest.get(name)));
    String platform = matcher.group(3);
    if (platform == null) {
      programs.add(program);
      return;
    }
    checkPlatform(path, platform);
    String general = name.substring(0, matcher.start(3)) + "mlir";
    own.computeIfAbsent(general, unused -> new TreeMap<>()).put(platform, program);
  }

  private void checkPlatform(Path path, String platform) {
    if (!spec.formatVersion().equals("3")) {
      throw new BundleException(
          path.toString(),
          "is for platform '%s' alone, which bundles of format %s have no programs for; use format 3"
              .formatted(platform, spec.formatVersion()));
    }
    if (!PlatformNames.KNOWN.contains(platform)) {
      throw new BundleException(
          path.toString(),
          "is for platform '%s', which is not known; known are %s"
              .formatted(platform, String.join(", ", PlatformNames.KNOWN)));
    }
  }

  /** A bundle must serve on any platform, so a platform's own program needs a general one. */
  private void checkGeneral(BundleFiles files) {
    own.forEach(
        (general, byPlatform) -> {
          if (!files.has(general)) {
            String file = byPlatform.values().iterator().next().name();
            throw new BundleException(
                folder.resolve(general).toString(),
                "is missing; %s is for platform '%s' alone, and every other takes %s"
                    .formatted(file, byPlatform.keySet().iterator().next(), general));
          }
        });
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
