package dev.roundhouse.transport;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.transport", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {
  @ArchTest
  static final ArchRule PACKAGES_HAVE_NO_CYCLES =
      slices().matching("dev.roundhouse.transport.(*)..").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule EACH_LAYER_KNOWS_THOSE_BELOW =
      layeredArchitecture()
          .consideringOnlyDependenciesInLayers()
          .layer("io")
          .definedBy("dev.roundhouse.transport.io..")
          .layer("memory")
          .definedBy("dev.roundhouse.transport.memory..")
          .layer("http1")
          .definedBy("dev.roundhouse.transport.http1..")
          .layer("http2")
          .definedBy("dev.roundhouse.transport.http2..")
          .layer("forward")
          .definedBy("dev.roundhouse.transport.forward..")
          .whereLayer("io")
          .mayNotAccessAnyLayer()
          .whereLayer("memory")
          .mayNotAccessAnyLayer()
          .whereLayer("http1")
          .mayOnlyAccessLayers("io", "memory")
          .whereLayer("http2")
          .mayOnlyAccessLayers("io", "memory");

  @ArchTest
  static final ArchRule KNOWS_NOTHING_OF_OURS =
      noClasses()
          .should()
          .dependOnClassesThat(
              resideInAPackage("dev.roundhouse..")
                  .and(not(resideInAPackage("dev.roundhouse.transport.."))));

  /**
   * A connection is above its parts: it makes them, and they report to it by their own interfaces.
   */
  @ArchTest
  static final ArchRule TIMERS_DO_NOT_KNOW_THE_CONNECTION =
      noClasses()
          .that()
          .haveFullyQualifiedName("dev.roundhouse.transport.http2.ConnectionTimers")
          .or()
          .haveFullyQualifiedName("dev.roundhouse.transport.http2.StalledPeer")
          .should()
          .dependOnClassesThat(simpleName("Connection").or(simpleName("ServerStreams")));

  @ArchTest
  static final ArchRule STREAMS_DO_NOT_KNOW_TIMERS =
      noClasses()
          .that()
          .haveFullyQualifiedName("dev.roundhouse.transport.http2.ServerStreams")
          .should()
          .dependOnClassesThat(simpleName("ConnectionTimers").or(simpleName("StalledPeer")));
}
