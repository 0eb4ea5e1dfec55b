package dev.roundhouse.platform.config;

import jakarta.validation.Constraint;
import jakarta.validation.ConstraintValidator;
import jakarta.validation.ConstraintValidatorContext;
import jakarta.validation.Payload;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import org.jspecify.annotations.Nullable;
import org.springframework.util.unit.DataSize;

/** Bounds of a size, both inclusive. */
@Target({ElementType.FIELD, ElementType.PARAMETER, ElementType.METHOD})
@Retention(RetentionPolicy.RUNTIME)
@Constraint(validatedBy = DataSizeRange.Validator.class)
public @interface DataSizeRange {
  String min();

  String max();

  String message() default "must be between {min} and {max}";

  Class<?>[] groups() default {};

  Class<? extends Payload>[] payload() default {};

  /** Compares bytes. */
  final class Validator implements ConstraintValidator<DataSizeRange, DataSize> {
    private DataSize min = DataSize.ofBytes(0);
    private DataSize max = DataSize.ofBytes(Long.MAX_VALUE);

    @Override
    public void initialize(DataSizeRange range) {
      min = DataSize.parse(range.min());
      max = DataSize.parse(range.max());
    }

    @Override
    public boolean isValid(@Nullable DataSize size, ConstraintValidatorContext context) {
      return size == null || (size.compareTo(min) >= 0 && size.compareTo(max) <= 0);
    }
  }
}
