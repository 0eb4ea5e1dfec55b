package dev.roundhouse.devicecheck;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(
    packages = "dev.roundhouse.devicecheck",
    importOptions = ImportOption.DoNotIncludeTests.class)
class ArchitectureTest {
  /** A device that hangs must not be able to hang it. */
  @ArchTest
  static final ArchRule PARENT_TOUCHES_NO_DEVICE =
      noClasses()
          .that()
          .resideInAPackage("dev.roundhouse.devicecheck")
          .and()
          .doNotHaveSimpleName("CheckContext")
          .should()
          .dependOnClassesThat()
          .resideInAPackage("dev.roundhouse.pjrt..");

  @ArchTest
  static final ArchRule WORKER_IS_A_PROCESS =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage(
              "dev.roundhouse.worker..", "dev.roundhouse.simulation..", "org.springframework..");

  /** The list and the child process make them by that. */
  @ArchTest
  static final ArchRule STEPS_ARE_PUBLIC =
      classes()
          .that()
          .implement(Step.class)
          .should()
          .bePublic()
          .andShould()
          .resideInAPackage("dev.roundhouse.devicecheck.step");
}
