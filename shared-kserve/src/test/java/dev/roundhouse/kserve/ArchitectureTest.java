package dev.roundhouse.kserve;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

@AnalyzeClasses(packagesOf = ArchitectureTest.class, importOptions = DoNotIncludeTests.class)
class ArchitectureTest {

  @ArchTest
  static final ArchRule NO_CYCLES =
      slices().matching("dev.roundhouse.kserve.(*)..").should().beFreeOfCycles();

  @ArchTest
  static final ArchRule NO_SPRING_NO_ENGINE =
      noClasses()
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("org.springframework..", "dev.roundhouse.engine..");

  @ArchTest
  static final ArchRule STATUS_STANDS_ALONE =
      noClasses()
          .that()
          .resideInAPackage("..status..")
          .should()
          .dependOnClassesThat()
          .resideInAnyPackage("com.google.protobuf..", "..kserve.proto..", "..kserve.codec..");
}
