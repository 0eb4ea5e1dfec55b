package dev.roundhouse.pjrt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.roundhouse.engine.device.DeviceException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CudaPackageTest {
  private static final Set<String> DRIVER = Set.of("libcuda.so.1");
  private static final List<String> OF_13 =
      List.of(
          "cu13/lib/libcudart.so.13",
          "cu13/lib/libcublas.so.13",
          "cu13/lib/libcublasLt.so.13",
          "cu13/lib/libcufft.so.12",
          "cu13/lib/libcusolver.so.12",
          "cu13/lib/libcusparse.so.12",
          "cu13/lib/libcupti.so.13",
          "cudnn/lib/libcudnn.so.9");
  private static final List<String> OF_12 =
      List.of(
          "cuda_runtime/lib/libcudart.so.12",
          "cublas/lib/libcublas.so.12",
          "cublas/lib/libcublasLt.so.12",
          "cufft/lib/libcufft.so.11",
          "cusolver/lib/libcusolver.so.11",
          "cusparse/lib/libcusparse.so.12",
          "cuda_cupti/lib/libcupti.so.12",
          "cudnn/lib/libcudnn.so.9");

  @TempDir private Path root;
  private Path packages;

  @BeforeEach
  void name() {
    packages = root.resolve("env/lib/python3.12/site-packages");
  }

  @Test
  void shouldKnowThePackagesByTheirFolders() {
    for (String file : CudaPackage.FILES) {
      CudaPackage found = CudaPackage.of(packages.resolve(file)).orElseThrow();
      assertThat(found.major()).as(file).isEqualTo(file.contains("13") ? 13 : 12);
      assertThat(found.nvidia()).first().isEqualTo(packages.resolve("nvidia"));
    }
    assertThat(CudaPackage.of(Path.of("/opt/xla_cuda_plugin.so"))).isEmpty();
    assertThat(CudaPackage.of(Path.of("/opt/xla_cuda14/xla_cuda_plugin.so"))).isEmpty();
    assertThat(CudaPackage.of(Path.of("/"))).isEmpty();
  }

  @Test
  void shouldAcceptAPackageWithItsLibraries() throws IOException {
    create(OF_13);
    assertThatNoException().isThrownBy(() -> of(0).check(DRIVER::contains, true));
    create(OF_12);
    assertThatNoException().isThrownBy(() -> of(1).check(DRIVER::contains, true));
  }

  @Test
  void shouldTellWhichRuntimeThePluginFinds() throws IOException {
    assertThat(of(0).runtimeLibrary()).isEmpty();
    create(OF_13);
    create(OF_12);
    Path nvidia = packages.resolve("nvidia");
    assertThat(of(0).runtimeLibrary()).hasValue(nvidia.resolve("cu13/lib/libcudart.so.13"));
    assertThat(of(1).runtimeLibrary()).hasValue(nvidia.resolve("cuda_runtime/lib/libcudart.so.12"));
  }

  @Test
  void shouldFindLibrariesBesideThePackageToo() throws IOException {
    for (String library : OF_13) {
      create(packages.resolve("jax_plugins/nvidia").resolve(library));
    }
    assertThatNoException().isThrownBy(() -> of(0).check(DRIVER::contains, true));
  }

  @Test
  void shouldAcceptLibrariesOfTheSystem() {
    assertThatNoException().isThrownBy(() -> of(0).check(name -> true, true));
  }

  @Test
  void shouldNameEachLibraryThatIsMissingAndThePackageThatBringsIt() throws IOException {
    for (int major = 13; major >= 12; major--) {
      CudaPackage plugin = of(13 - major);
      List<String> all = major == 13 ? OF_13 : OF_12;
      create(all);
      for (String missing : all) {
        Path file = packages.resolve("nvidia").resolve(missing);
        Files.delete(file);
        assertThatThrownBy(() -> plugin.check(DRIVER::contains, true))
            .isInstanceOf(DeviceException.class)
            .hasMessageContaining(plugin.plugin() + " lacks " + file.getFileName() + ":")
            .hasMessageContaining(packages.resolve("nvidia").toString())
            .hasMessageContaining("pip install nvidia-");
        create(file);
      }
    }
  }

  @Test
  void shouldNameAllThatIsMissingAtOnce() {
    assertThatThrownBy(() -> of(0).check(DRIVER::contains, false))
        .hasMessageContainingAll("libcudart.so.13", "libcudnn.so.9", "bin/ptxas")
        .hasMessageContaining(
            "pip install nvidia-cuda-runtime nvidia-cublas nvidia-cufft nvidia-cusolver nvidia-cusparse nvidia-cuda-cupti nvidia-cudnn-cu13 nvidia-cuda-nvcc nvidia-nvvm in");
  }

  @Test
  void shouldAskForTheDriverFirst() {
    assertThatThrownBy(() -> of(0).check(name -> false, false))
        .isInstanceOf(DeviceException.class)
        .hasMessageContainingAll(
            "NVIDIA's driver", "libcuda.so.1", "nvidia-smi", "platform to cpu");
  }

  @Test
  void shouldFindTheCompilersFilesBesideThePluginAndElseInTheSystem() throws IOException {
    Path system = root.resolve("usr/local/cuda");
    assertThat(of(0).dataDirectory(root)).isEmpty();
    compilerIn(system);
    assertThat(of(0).dataDirectory(root)).contains(system);
    Path newer = root.resolve("usr/local/cuda-13");
    compilerIn(newer);
    assertThat(of(0).dataDirectory(root)).contains(newer);
    assertThat(of(1).dataDirectory(root)).contains(system);
    Path beside = packages.resolve("nvidia/cu13");
    create(beside.resolve("bin/ptxas"));
    assertThat(of(0).dataDirectory(root)).as("no libdevice there").contains(newer);
    compilerIn(beside);
    assertThat(of(0).dataDirectory(root)).contains(beside);
    compilerIn(packages.resolve("nvidia/cuda_nvcc"));
    assertThat(of(1).dataDirectory(root)).contains(packages.resolve("nvidia/cuda_nvcc"));
  }

  private CudaPackage of(int file) {
    return CudaPackage.of(packages.resolve(CudaPackage.FILES.get(file))).orElseThrow();
  }

  private static void compilerIn(Path folder) throws IOException {
    create(folder.resolve("bin/ptxas"));
    create(folder.resolve("nvvm/libdevice/libdevice.10.bc"));
  }

  private void create(List<String> libraries) throws IOException {
    for (String library : libraries) {
      create(packages.resolve("nvidia").resolve(library));
    }
  }

  private static void create(Path file) throws IOException {
    Files.createDirectories(file.getParent());
    Files.write(file, new byte[0]);
  }
}
