package dev.roundhouse.cuda;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Loads JavaCPP's wrapper of CUDA's runtime once: NVIDIA's own library by its path, so that no
 * LD_LIBRARY_PATH is needed, then the wrapper's two, which the jar holds. JavaCPP's own loader is
 * switched off: it unpacks to a cache in the home folder, and a worker may have none.
 */
final class WrapperLibraries {
  /** The library that the wrapper is linked to. */
  static final String RUNTIME = "libcudart.so.13";

  private static final Logger log = LoggerFactory.getLogger(WrapperLibraries.class);

  private static boolean loaded;

  private WrapperLibraries() {}

  /**
   * @param runtime NVIDIA's library; empty leaves it to the system's loader. Without effect when it
   *     is loaded already
   * @throws CudaException when one of them does not load
   */
  static synchronized void load(Optional<Path> runtime) {
    if (loaded) {
      return;
    }
    runtime.ifPresent(WrapperLibraries::requireMajor);
    configure();
    try {
      runtime.ifPresent(file -> System.load(file.toAbsolutePath().toString()));
      loadFromJar("/org/bytedeco/javacpp/linux-x86_64/libjnijavacpp.so");
      loadFromJar("/org/bytedeco/cuda/linux-x86_64/libjnicudart.so");
    } catch (IOException | UnsatisfiedLinkError e) {
      throw new CudaException(
          "CUDA's runtime does not load: %s. It needs NVIDIA's driver (libcuda.so.1) and %s, beside the CUDA plugin (pip install nvidia-cuda-runtime) or where the system's loader looks"
              .formatted(e.getMessage(), RUNTIME),
          e);
    }
    log.info("CUDA's runtime: {}", runtime.map(Path::toString).orElse("the system's " + RUNTIME));
    loaded = true;
  }

  private static void requireMajor(Path runtime) {
    if (!String.valueOf(runtime.getFileName()).equals(RUNTIME)) {
      throw new CudaException(
          "clients share memory on a GPU through CUDA 13, whose %s is wanted, and beside the CUDA plugin is %s; use a plugin for CUDA 13"
              .formatted(RUNTIME, runtime));
    }
  }

  /** Nothing here is freed by JavaCPP's thread, nor bounded by its idea of the process's memory. */
  private static void configure() {
    System.setProperty("org.bytedeco.javacpp.loadlibraries", "false");
    System.setProperty("org.bytedeco.javacpp.nopointergc", "true");
    System.setProperty("org.bytedeco.javacpp.maxbytes", "0");
    System.setProperty("org.bytedeco.javacpp.maxphysicalbytes", "0");
  }

  private static void loadFromJar(String resource) throws IOException {
    try (InputStream library = WrapperLibraries.class.getResourceAsStream(resource)) {
      if (library == null) {
        throw new IOException(resource + " is not in the jar");
      }
      Path copy = Files.createTempFile("roundhouse-cuda-", ".so");
      try {
        Files.copy(library, copy, StandardCopyOption.REPLACE_EXISTING);
        System.load(copy.toString());
      } finally {
        Files.delete(copy); // Linux keeps a mapped file
      }
    }
  }
}
