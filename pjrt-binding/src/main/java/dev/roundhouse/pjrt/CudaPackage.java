package dev.roundhouse.pjrt;

import dev.roundhouse.engine.device.DeviceException;
import dev.roundhouse.engine.device.DeviceException.Code;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A CUDA plugin as its Python package holds it. Its run path leads from the plugin's own folder to
 * {@code ../../nvidia/} and {@code ../nvidia/}, where pip puts NVIDIA's libraries; found there,
 * they win over those of the system. The plugin of {@code jax-cuda*-pjrt} opens them when it first
 * needs them and fails then in ways that do not name them, so they are looked for before.
 *
 * @param plugin the plugin's file
 * @param major of CUDA, 12 or 13
 * @param nvidia folders {@code nvidia} in which the plugin looks, whether or not they exist
 */
record CudaPackage(Path plugin, int major, List<Path> nvidia) {
  /** Below a folder of Python packages, the ones to prefer first. */
  static final List<String> FILES =
      List.of(
          "jax_plugins/xla_cuda13/xla_cuda_plugin.so",
          "jax_plugins/xla_cuda12/xla_cuda_plugin.so",
          "xla_plugins/xla_cuda13_pjrt/xla_gpu_pjrt.so",
          "xla_plugins/xla_cuda12_pjrt/xla_gpu_pjrt.so");

  static final String INSTALL =
      "Run pip install \"jax-cuda13-pjrt\" with NVIDIA's libraries (docs/cuda.md lists them) in a Python environment, and name that environment in roundhouse.worker.device.cuda.python-environment or activate it; or name a plugin in one of these places.";

  private static final Pattern FOLDER = Pattern.compile("xla_cuda(12|13)(_pjrt)?");

  private static final String DRIVER = "libcuda.so.1";

  /** Where the system's own CUDA is, by custom. */
  private static final List<String> SYSTEM = List.of("/usr/local/cuda-%d", "/usr/local/cuda");

  private static final List<Library> CUDA_13 =
      List.of(
          new Library("cu13", "libcudart.so.13", "nvidia-cuda-runtime"),
          new Library("cu13", "libcublas.so.13", "nvidia-cublas"),
          new Library("cu13", "libcublasLt.so.13", "nvidia-cublas"),
          new Library("cu13", "libcufft.so.12", "nvidia-cufft"),
          new Library("cu13", "libcusolver.so.12", "nvidia-cusolver"),
          new Library("cu13", "libcusparse.so.12", "nvidia-cusparse"),
          new Library("cu13", "libcupti.so.13", "nvidia-cuda-cupti"),
          new Library("cudnn", "libcudnn.so.9", "nvidia-cudnn-cu13"));

  private static final List<Library> CUDA_12 =
      List.of(
          new Library("cuda_runtime", "libcudart.so.12", "nvidia-cuda-runtime-cu12"),
          new Library("cublas", "libcublas.so.12", "nvidia-cublas-cu12"),
          new Library("cublas", "libcublasLt.so.12", "nvidia-cublas-cu12"),
          new Library("cufft", "libcufft.so.11", "nvidia-cufft-cu12"),
          new Library("cusolver", "libcusolver.so.11", "nvidia-cusolver-cu12"),
          new Library("cusparse", "libcusparse.so.12", "nvidia-cusparse-cu12"),
          new Library("cuda_cupti", "libcupti.so.12", "nvidia-cuda-cupti-cu12"),
          new Library("cudnn", "libcudnn.so.9", "nvidia-cudnn-cu12"));

  /** Empty for a plugin that does not lie as a CUDA package's does: nothing is known of it. */
  static Optional<CudaPackage> of(Path plugin) {
    Path folder = plugin.toAbsolutePath().getParent();
    Path name = folder == null ? null : folder.getFileName();
    if (folder == null || name == null) {
      return Optional.empty();
    }
    Matcher version = FOLDER.matcher(name.toString());
    return version.matches()
        ? Optional.of(
            new CudaPackage(
                plugin,
                Integer.parseInt(version.group(1)),
                List.of(
                    folder.resolve("../../nvidia").normalize(),
                    folder.resolve("../nvidia").normalize())))
        : Optional.empty();
  }

  /**
   * Where {@code bin/ptxas} and {@code nvvm/libdevice} are, for {@code --xla_gpu_cuda_data_dir}.
   *
   * @param root of the file system; tests have their own
   */
  Optional<Path> dataDirectory(Path root) {
    List<Path> places = new ArrayList<>();
    nvidia.forEach(each -> places.add(each.resolve(major == 13 ? "cu13" : "cuda_nvcc")));
    SYSTEM.forEach(each -> places.add(root.resolve(each.formatted(major).substring(1))));
    return places.stream().filter(CudaPackage::isDataDirectory).findFirst();
  }

  /** CUDA's runtime as the plugin finds it; empty when it is left to the system's loader. */
  Optional<Path> runtimeLibrary() {
    Library runtime = (major == 13 ? CUDA_13 : CUDA_12).getFirst();
    return nvidia.stream()
        .map(each -> each.resolve(runtime.folder + "/lib").resolve(runtime.file))
        .filter(Files::isRegularFile)
        .findFirst();
  }

  /**
   * Sees to it that everything is there that the plugin will open.
   *
   * @param loads whether the system's loader finds a library by its name
   * @param hasDataDirectory whether the compiler's files have been found, or named
   * @throws DeviceException UNSUPPORTED naming all that is missing, where it is looked for and what
   *     to install
   */
  void check(Predicate<String> loads, boolean hasDataDirectory) {
    if (!loads.test(DRIVER)) {
      throw new DeviceException(
          Code.UNSUPPORTED,
          "the CUDA plugin %s needs NVIDIA's driver, and the system's loader finds no %s. Run where nvidia-smi works (a container needs NVIDIA's container toolkit and --gpus), or set roundhouse.worker.device.platform to cpu."
              .formatted(plugin, DRIVER));
    }
    List<String> missing = new ArrayList<>();
    List<String> packages = new ArrayList<>();
    for (Library library : major == 13 ? CUDA_13 : CUDA_12) {
      if (!isBeside(library) && !loads.test(library.file)) {
        missing.add(library.file);
        addOnce(packages, library.wheel);
      }
    }
    if (!hasDataDirectory) {
      missing.add("bin/ptxas with nvvm/libdevice");
      addOnce(packages, major == 13 ? "nvidia-cuda-nvcc" : "nvidia-cuda-nvcc-cu12");
      if (major == 13) {
        addOnce(packages, "nvidia-nvvm");
      }
    }
    if (!missing.isEmpty()) {
      throw new DeviceException(
          Code.UNSUPPORTED,
          "the CUDA plugin %s lacks %s: neither in %s, where its run path leads, nor where the system's loader looks. Run pip install %s in the environment that holds the plugin, and keep the plugin in that environment's folders."
              .formatted(
                  plugin,
                  String.join(", ", missing),
                  String.join(" or ", nvidia.stream().map(Path::toString).toList()),
                  String.join(" ", packages)));
    }
  }

  private boolean isBeside(Library library) {
    return nvidia.stream()
        .anyMatch(
            each ->
                Files.isRegularFile(each.resolve(library.folder + "/lib").resolve(library.file)));
  }

  private static boolean isDataDirectory(Path folder) {
    return Files.isRegularFile(folder.resolve("bin/ptxas"))
        && Files.isDirectory(folder.resolve("nvvm/libdevice"));
  }

  private static void addOnce(List<String> names, String name) {
    if (!names.contains(name)) {
      names.add(name);
    }
  }

  /**
   * @param folder below {@code nvidia/}; the file is in its {@code lib}
   * @param wheel the package that brings it
   */
  private record Library(String folder, String file, String wheel) {}
}
