package javax.annotation;

/** Named by generated code; a library of its own has it, which no registry of ours carries. */
public @interface Generated {
  String[] value();

  String date() default "";

  String comments() default "";
}
