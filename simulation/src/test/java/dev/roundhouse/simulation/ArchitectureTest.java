package dev.roundhouse.simulation;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import java.util.Random;

@AnalyzeClasses(
    packages = "dev.roundhouse.simulation",
    importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule PACKAGES_HAVE_NO_CYCLES =
      slices().matching("dev.roundhouse.simulation.(**)").should().beFreeOfCycles();

  /** Nothing may depend on how fast this machine is, nor on luck that no seed gives. */
  @ArchTest
  static final ArchRule SIMULATED_TIME_IS_THE_ONLY_TIME =
      noClasses()
          .that()
          .doNotHaveFullyQualifiedName(SimCommand.class.getName()) // says on stderr what it took
          .should()
          .callMethod(System.class, "nanoTime")
          .orShould()
          .callMethod(System.class, "currentTimeMillis")
          .orShould()
          .dependOnClassesThat()
          .areAssignableTo(Random.class)
          .orShould()
          .callMethod(Math.class, "random");
}
