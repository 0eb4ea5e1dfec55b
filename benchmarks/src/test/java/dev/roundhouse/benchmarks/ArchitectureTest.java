package dev.roundhouse.benchmarks;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packages = "dev.roundhouse.benchmarks", importOptions = DoNotIncludeTests.class)
class ArchitectureTest {
  /** The package of the command is one of them: it knows the benches, and none knows it. */
  @ArchTest
  static final ArchRule PACKAGES_HAVE_NO_CYCLES =
      slices().matching("dev.roundhouse.(**)").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule SERVERS_ARE_PROCESSES =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.worker..", "dev.roundhouse.gateway..", "org.springframework..");
}
